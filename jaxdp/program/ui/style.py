"""How the page looks: calm, wide and narrow, light and dark, in the fonts of the machine."""

PRIMARY = "#2878ad"
"""Of buttons, for light and dark alike: white text on it has a contrast above 4.5."""
CSS = """
:root { --page: #f6f7f9; --card: #fff; --ink: #1b1f24; --faint: #57606a; --line: #d8dee4;
  --accent: #0b6e99; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --page: #0f1418; --card: #182027; --ink: #e6ebef;
  --faint: #9aa7b2; --line: #2d3943; --accent: #5cc1ec; --bad: #ff9c8f; } }
body, .q-field, .q-btn, .q-field__native, .q-field__label { font-family: system-ui, -apple-system,
  "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
body { font-size: 16px; line-height: 1.5; background: var(--page) !important; color: var(--ink); }
.nicegui-content { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; gap: 1rem; }
.name { font-size: 1.7rem; font-weight: 700; }
.title { font-size: 1.15rem; font-weight: 700; }
.q-card { background: var(--card) !important; color: var(--ink); border-color: var(--line);
  border-radius: .7rem; gap: .8rem; }
.q-btn { text-transform: none; border-radius: .4rem; }
.q-btn--outline, .q-btn--flat, .q-field, .q-radio, .q-checkbox, .q-linear-progress, .q-link, a {
  --q-primary: var(--accent); }
.q-notification .q-btn { --q-primary: #fff; }
.q-btn--outline.text-negative { --q-negative: var(--bad); }
a { color: var(--accent); }
.q-card > *, .said { max-width: 100%; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; }
.faint { color: var(--faint); font-size: .9rem; }
.wrong { color: var(--bad); }
.wrong:empty { display: none; }
.outlook { display: grid; gap: 1rem 1.5rem; width: 100%; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }
.curve { width: 100%; max-width: 30rem; }
.log { font: 13px/1.45 ui-monospace, Consolas, monospace; height: 14rem; width: 100%;
  border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .7rem;
  background: var(--page); }
.log * { white-space: pre-wrap !important; overflow-wrap: anywhere; }
.of-column { border-top: 1px solid var(--line); padding: .6rem 0; width: 100%; }
.q-expansion-item .q-item { padding-left: 0; }
.q-expansion-item .nicegui-expansion-content { padding: 0; }
.made { width: 100%; max-height: 32rem; }
.q-table__container.made { background: var(--card); color: var(--ink); }
iframe.report { width: 100%; height: 75vh; border: 1px solid var(--line); border-radius: .4rem; }
@media (max-width: 500px) { .q-card { padding: .9rem; }
  .nicegui-content { padding: 1rem .6rem 2rem; } }
"""
