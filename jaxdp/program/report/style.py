"""How a report page looks: wide and narrow, light and dark, without anything from elsewhere."""

CSS = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1b1f24; --faint: #57606a;
  --line: #d8dee4; --accent: #0b6e99; --bad: #b42318; --bad-page: #fef1ef; --warn: #8a5a00;
  --warn-page: #fff8e5; }
@media (prefers-color-scheme: dark) { :root { --page: #0f1418; --card: #182027; --ink: #e6ebef;
  --faint: #9aa7b2; --line: #2d3943; --accent: #5cc1ec; --bad: #ff9c8f; --bad-page: #351a17;
  --warn: #f2c14e; --warn-page: #2f2610; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 0 0 .6rem; }
h3 { font-size: 1rem; margin: 0 0 .2rem; }
p { margin: 0 0 .7rem; }
ul { margin: 0; padding-left: 1.2rem; }
section, .fact { background: var(--card); border: 1px solid var(--line); border-radius: .7rem; }
section { padding: 1.1rem 1.2rem; margin-top: 1rem; }
.facts { display: grid; gap: .7rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); }
.fact { padding: .7rem 1rem; }
.fact span { display: block; color: var(--faint); font-size: .85rem; }
.fact strong { display: block; font-size: 1.25rem; line-height: 1.35; }
.fact small { display: block; white-space: pre-line; font-size: .95rem; }
.loud { border-width: 2px; border-color: var(--bad); background: var(--bad-page); }
.loud h2 { color: var(--bad); letter-spacing: .03em; font-size: 1.3rem; }
.loud :last-child { margin-bottom: 0; }
.verdict { border-width: 2px; border-color: var(--accent); }
.warn { border-color: var(--warn); background: var(--warn-page); }
.warn h2 { color: var(--warn); }
.columns { display: grid; gap: 1rem 2rem; margin-top: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); }
img { display: block; max-width: 100%; height: auto; margin: 0 auto; border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-top: 1px solid var(--line); }
tr:first-child > * { border-top: 0; }
th { font-weight: 400; color: var(--faint); font-family: ui-monospace, Consolas, monospace; }
.keys > tbody > tr > th { width: 38%; }
code, pre { font-family: ui-monospace, Consolas, monospace; font-size: .9rem; }
pre { overflow-x: auto; margin: 1rem 0 0; padding: .8rem 1rem; background: var(--page);
  border-radius: .4rem; overflow-wrap: normal; }
summary { cursor: pointer; color: var(--accent); }
.lead { max-width: 48rem; }
.loud + .lead { margin-top: 1rem; }
.faint { color: var(--faint); }
p.faint { font-size: .9rem; }
.scroll { overflow-x: auto; margin: 0 0 .7rem; }
.scroll table { overflow-wrap: normal; }
.scroll .wide { max-width: none; width: max(100%, 44rem); }
.quality th { font-family: inherit; }
.confusion { width: auto; margin-top: .8rem; line-height: 1.3; font-size: .85rem;
  font-variant-numeric: tabular-nums; }
.confusion caption { text-align: left; font-weight: 700; padding-bottom: .3rem; }
.confusion td, .confusion th { border: 0; padding: .3rem .1rem; text-align: center;
  vertical-align: middle; min-width: 2.4rem; }
.confusion th[scope=row] { text-align: right; padding-right: .4rem; max-width: 7rem;
  overflow-wrap: anywhere; }
.confusion .tall { vertical-align: bottom; }
.confusion .tall span { writing-mode: vertical-rl; transform: rotate(180deg); }
.confusion td[style] { background:
  color-mix(in srgb, var(--accent) calc(var(--share) * .45%), var(--card)); }
.confusion .right { font-weight: 700; }
.top { display: grid; gap: .7rem; margin-top: 1rem; }
.top > section { margin-top: 0; min-width: 0; }
@media (min-width: 48rem) {
  .top:not(.wide) { grid-template-columns: minmax(0, 3fr) minmax(11rem, 1fr);
    align-items: start; }
  .top:not(.wide) .facts { grid-template-columns: 1fr; } }
main > details { background: var(--card); border: 1px solid var(--line); border-radius: .7rem;
  margin-top: 1rem; padding: .7rem 1.2rem; }
main > details > section { border: 0; padding: .5rem 0 0; margin: 0; }
.bar { max-width: 36rem; margin: .2rem auto .6rem; }
.bar svg { display: block; width: 100%; height: auto; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
.bar svg text { fill: var(--ink); font-size: 11.5px; }
.bar .rail { fill: var(--line); }
.bar .value { fill: var(--accent); }
.bar .here { stroke: var(--ink); stroke-width: 2; }
.bar .guess { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 1.5 2.5; }
.bar .ceiling { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 6 3; }
@media (max-width: 34rem) { main { padding: .8rem .6rem 2rem; } section { padding: .9rem; }
  h1 { font-size: 1.3rem; margin-bottom: .5rem; } .lead { font-size: .92rem; }
  .top { gap: .5rem; margin-top: .5rem; } .top > section { padding: .6rem .7rem; }
  .top > section h2 { margin-bottom: .3rem; } .lead { margin-bottom: .3rem; }
  .facts { gap: .5rem; grid-template-columns: 1fr 1fr; } .fact { padding: .45rem .7rem; }
  .fact strong { font-size: 1.1rem; } .columns { font-size: .92rem; margin-top: .5rem; }
  .quality table { font-size: .78rem; }
  .quality th, .quality td { padding-right: .4rem; }
  .confusion th, .confusion td { min-width: 1.4rem; padding-right: .1rem; }
  .keys > tbody > tr > * { display: block; padding: .1rem 0 .35rem; border: 0; }
  .keys > tbody > tr > th { width: auto; border-top: 1px solid var(--line); padding: .35rem 0 0; }
  .keys > tbody > tr:first-child > th { border: 0; } }
@page { margin: 12mm; }
@media print {
  :root { color-scheme: light; --page: #fff; --card: #fff; --ink: #1b1f24; --faint: #57606a;
    --line: #d8dee4; --accent: #0b6e99; --bad: #b42318; --bad-page: #fff; --warn: #8a5a00;
    --warn-page: #fff; }
  body { background: none; font-size: 9.5pt; line-height: 1.35; }
  main { padding: 0; max-width: none; }
  h1 { font-size: 15pt; margin-bottom: .4rem; }
  h2 { font-size: 11.5pt; break-after: avoid; }
  section, .top { padding: .5rem .7rem; margin-top: .5rem; break-inside: avoid; }
  .quality { break-inside: auto; }
  .top { padding: 0; }
  .top:not(.wide) { grid-template-columns: minmax(0, 2fr) minmax(11rem, 1fr); }
  .top:not(.wide) .facts { grid-template-columns: 1fr; }
  .fact { padding: .3rem .6rem; }
  img { max-height: 85mm; width: auto; }
  .scroll { overflow: visible; }
  .scroll .wide { width: auto; max-width: 100%; }
  main .curve, main .bar { max-width: 92mm; }
  .columns { grid-template-columns: repeat(3, 1fr); gap: .4rem 1rem; margin-top: .4rem; }
  .verdict .columns { grid-template-columns: 1fr 1fr; }
  .columns, p.faint, table { font-size: 8.5pt; }
  .confusion { font-size: 8pt; margin-top: .3rem; }
  .confusion td, .confusion th { padding: .05rem .1rem; }
  pre { margin: .3rem 0 0; padding: .4rem .6rem; white-space: pre-wrap; font-size: 8.5pt; }
  section details { display: none; }
  main > details { display: none; } }
"""
