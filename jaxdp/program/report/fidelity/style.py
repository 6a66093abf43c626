"""What the page of a comparison has beside the style of all report pages."""

CSS = """
:root { --real: #aab3bd; --made: #0b6e99; --up: #0b6e99; --down: #c2540a; --third: #6b4fa3; }
@media (prefers-color-scheme: dark) { :root { --real: #56636f; --made: #5cc1ec; --up: #5cc1ec;
  --down: #f0935a; --third: #b79df0; } }
figure { margin: 0; }
figcaption { font-size: .92rem; line-height: 1.35; margin-bottom: .25rem; }
figcaption small { color: var(--faint); white-space: nowrap; }
svg { display: block; width: 100%; height: auto; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
svg text { fill: var(--faint); font-size: 11px; }
.maps svg text { font-size: 10px; }
svg .real { fill: var(--real); }
svg .made { fill: var(--made); fill-opacity: .18; stroke: var(--made); stroke-width: 1.2; }
svg .apart { stroke-dasharray: 2 1.5; opacity: .75; }
svg .hit { fill: transparent; }
svg .hit:hover { fill: var(--accent); fill-opacity: .12; }
svg .axis { stroke: var(--faint); stroke-width: 1; }
svg .grid { stroke: var(--line); stroke-width: .7; }
svg .same { stroke: var(--faint); stroke-width: 1; stroke-dasharray: 4 3; }
svg circle { fill-opacity: .65; }
svg circle:hover, .maps rect:hover { stroke: var(--ink); stroke-width: 1.5; }
.pearson, .up { --colour: var(--up); }
.cramers_v, .down { --colour: var(--down); }
.correlation_ratio { --colour: var(--third); }
svg circle, .maps rect { fill: var(--colour, none); }
.maps .frame { stroke: var(--line); stroke-width: 1; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin-bottom: .3rem;
  font-size: .92rem; }
.legend span::before { content: ""; display: inline-block; width: .8rem; height: .8rem;
  margin-right: .4rem; border-radius: .15rem; vertical-align: -.08rem; background: var(--colour);
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.legend .real { --colour: var(--real); }
.legend .made::before { background: color-mix(in srgb, var(--made) 18%, transparent);
  outline: 1.5px solid var(--made); outline-offset: -1.5px; }
.panels { columns: 17rem; column-gap: 2rem; }
.panels figure { break-inside: avoid; padding-bottom: 1.2rem; }
.plane { max-width: 30rem; margin: 0 auto; }
.maps { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
.maps.small { grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); }
.maps figure { min-width: 0; }
.lead.gap { margin: 1rem 0; font-size: 1.15rem; max-width: none; }
.sheet { font-variant-numeric: tabular-nums; font-size: .88rem; }
.sheet th { font-family: inherit; vertical-align: bottom; line-height: 1.3; }
.sheet td:not(.words), .sheet th:not(.words) { text-align: right; }
.sheet td:not(.words) { white-space: nowrap; }
.sheet th { overflow-wrap: normal; }
.sheet td.words { min-width: 6.5rem; max-width: 26rem; overflow-wrap: anywhere; }
.sheet .far { color: var(--bad); font-weight: 600; }
.sheet small { color: var(--faint); display: block; }
@media print { .scroll { overflow: visible; } h2, p { break-after: avoid; }
  section:has(.panels, .sheet, .maps) { break-inside: auto; }
  p, tr, .maps figure { break-inside: avoid; } }
@page { @bottom-center { content: "NOT FOR RELEASE"; color: #b42318; font: 700 9pt sans-serif; } }
"""
