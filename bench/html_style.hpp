// The looks of the page: bench/html.cpp writes the elements that this speaks of. Colours follow the reader's system.
#pragma once

namespace tilewright::bench {

inline constexpr const char* page_style = R"(
:root {
  color-scheme: light dark;
  --paper: #fbfbf9; --card: #ffffff; --ink: #1d2129; --soft: #5d6572; --line: #e1e3e6; --track: #eef0f2;
  --ahead: #0b7a53; --ahead-soft: #dff3ea; --behind: #a8480f; --behind-soft: #fbe9dd;
  --c0: #0f6fd1; --c1: #8c95a3; --c2: #5c6675; --c3: #c08d2c; --c4: #a05cc0; --c5: #5a9e8f; --c6: #c2607e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171c; --card: #1c2027; --ink: #e7eaee; --soft: #9aa4b2; --line: #2d333c; --track: #262c34;
    --ahead: #5fd3a4; --ahead-soft: #173329; --behind: #f0a06c; --behind-soft: #3a2618;
    --c0: #4ba3ff; --c1: #8a93a1; --c2: #b3bcc9; --c3: #e0b354; --c4: #c48ae2; --c5: #74c4b3; --c6: #e58aa5;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 2.5rem clamp(1rem, 4vw, 3.5rem) 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; max-width: 1500px; margin-inline: auto;
}
h1 { font-size: 1.7rem; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .3rem; }
p { margin: .3rem 0 1rem; color: var(--soft); max-width: 75ch; }
code, .mono, td, .num { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; font-size: .86em; }
.facts { display: flex; flex-wrap: wrap; gap: .2rem 1.6rem; margin: .8rem 0 0; color: var(--soft); }
.facts b { color: var(--ink); font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.3rem; margin: .8rem 0; }
.legend span::before, .dot {
  content: ""; display: inline-block; width: .8em; height: .8em; border-radius: 3px; margin-right: .45em;
  background: var(--c); vertical-align: -.05em;
}
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .4rem 0 1rem; }
th, td { padding: .32rem .8rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 600; font-size: .86rem; color: var(--soft); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tr.all td { border-top: 2px solid var(--line); border-bottom: 0; font-weight: 700; }
.ahead { color: var(--ahead); } .behind { color: var(--behind); }
.cards { display: grid; gap: .9rem; grid-template-columns: repeat(auto-fill, minmax(21.5rem, 1fr)); margin-top: .7rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .85rem 1rem .8rem; }
.card header { display: flex; align-items: baseline; gap: .6rem; }
.card h3 { margin: 0; font-size: .98rem; }
.card .what { color: var(--soft); font-size: .8rem; margin: .1rem 0 .55rem; }
.badge { margin-left: auto; padding: .06rem .5rem; border-radius: 99px; font-weight: 650; font-size: .82rem; }
.badge.ahead { background: var(--ahead-soft); } .badge.behind { background: var(--behind-soft); }
.bar { display: grid; grid-template-columns: 6.6rem 1fr 4.2rem; gap: .55rem; align-items: center; height: 1.45rem; }
.bar .who { font-size: .8rem; color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.bar.ours .who { color: var(--ink); font-weight: 650; }
.bar .num { text-align: right; } .bar.ours .num { font-weight: 700; }
.track { position: relative; height: .78rem; background: var(--track); border-radius: 3px; }
.track i { position: absolute; inset: 0 auto 0 0; background: var(--c); border-radius: 3px; min-width: 2px; }
.track u { position: absolute; top: 50%; height: 1.5px; margin-top: -.75px; background: var(--ink); opacity: .65; }
.none { color: var(--soft); font-size: .76rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
svg { width: 100%; max-width: 980px; height: auto; display: block; }
svg text { fill: var(--soft); font-size: 12px; font-family: inherit; }
svg .grid { stroke: var(--line); } svg .roof { stroke: var(--ink); stroke-width: 2; fill: none; }
svg .dot { stroke: var(--card); stroke-width: 1; }
details { margin-top: 2rem; } summary { cursor: pointer; font-weight: 600; }
td.way { text-align: left; max-width: 46rem; white-space: normal; color: var(--soft); }
@media print { body { padding: 0; } .card { break-inside: avoid; } }
)";

}  // namespace tilewright::bench
