/** How the report looks as a page. Colours have enough contrast in light and dark, and on paper. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5d6670; --line: #d9dee3; --paper: #fff; --wash: #f4f6f8; --blue: #1766b8;
  --red: #b3261e; --amber: #8a5a00; --green: #1a7f4b; --on: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9aa4ae; --line: #343b42; --paper: #15181b; --wash: #1e2327;
  --blue: #6cb2f5; --red: #ff8a80; --amber: #f0b955; --green: #6fd39f; --on: #10202f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 20px 48px; max-width: 980px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-variant-numeric: tabular-nums; }
section + article { margin-top: 40px; }
article + article { margin-top: 56px; border-top: 3px solid var(--line); padding-top: 24px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 28px 0 8px; padding-bottom: 4px; border-bottom: 1px solid var(--line); }
h3 { font-size: 15px; margin: 0 0 4px; }
header p { margin: 0; color: var(--soft); overflow-wrap: anywhere; }
header p.verdict { margin-top: 14px; padding: 10px 14px; color: var(--ink); background: var(--wash); border-left: 4px solid var(--green); font-weight: 600; }
.verdict.critical { border-color: var(--red) !important; } .verdict.warning { border-color: var(--amber) !important; }
.verdict.advice, .verdict.info { border-color: var(--blue) !important; }
.state { font-size: 13px; font-weight: 600; vertical-align: 4px; padding: 2px 8px; border-radius: 10px; border: 1px solid currentColor; color: var(--red); white-space: nowrap; }
.state.completed { color: var(--green); } .state.running { color: var(--blue); } .state.unknown { color: var(--soft); }
table { border-collapse: collapse; }
.wide { overflow-x: auto; }
th, td { text-align: left; padding: 3px 14px 3px 0; vertical-align: top; }
td:first-child { min-width: 6em; overflow-wrap: break-word; }
thead th { color: var(--soft); font-weight: 500; font-size: 13px; border-bottom: 1px solid var(--line); white-space: nowrap; }
tbody tr:hover { background: var(--wash); }
.under { display: none; }
.used th { font-weight: 500; } .used td, .used th { vertical-align: middle; } .used svg { display: block; }
.n { text-align: right; white-space: nowrap; }
mark { background: none; color: var(--amber); font-weight: 600; white-space: nowrap; }
.finding { margin: 10px 0; padding: 10px 14px; background: var(--wash); border-left: 4px solid var(--blue); }
.finding.critical { border-color: var(--red); } .finding.warning { border-color: var(--amber); } .finding.info { border-color: var(--line); }
.finding h3 span { font-size: 12px; text-transform: uppercase; letter-spacing: .04em; color: var(--blue); margin-right: 6px; }
.finding.critical h3 span { color: var(--red); } .finding.warning h3 span { color: var(--amber); } .finding.info h3 span { color: var(--soft); }
.finding p { margin: 0 0 4px; }
details { margin: 6px 0; } summary { cursor: pointer; color: var(--soft); font-size: 14px; }
ul { margin: 6px 0; padding-left: 20px; } code { font-size: 12px; color: var(--soft); }
.meter .track { fill: var(--line); } .meter .fill { fill: var(--blue); }
table.curves { width: 100%; } .curves th, .curves td { vertical-align: middle; } .curves th { font-weight: 500; white-space: nowrap; } .curves td:nth-child(2) { width: 100%; }
.curve { display: block; width: 100%; height: 40px; border-bottom: 1px solid var(--line); } .curve polygon { fill: var(--blue); fill-opacity: .55; }
.phases { position: relative; height: 18px; } .phases span { position: absolute; top: 0; bottom: 0; overflow: hidden; white-space: nowrap; font-size: 11px; line-height: 16px; padding-left: 2px; border-left: 2px solid var(--blue); background: var(--wash); color: var(--soft); }
.ends span { font-size: 12px; color: var(--soft); } .ends span + span { float: right; }
.map { max-width: 100%; height: auto; } .map text { font-size: 11px; fill: var(--soft); } .map rect { fill: var(--blue); }
.map rect.none { fill: var(--line); } .map text.on { fill: var(--on); } .map .odd rect { stroke: var(--red); stroke-width: 2.5; }
.note, footer { color: var(--soft); font-size: 13px; margin: 4px 0; } footer { margin-top: 32px; } footer p { margin: 0; }
@media (max-width: 640px) { body { padding: 16px 12px 32px; }
  .wide td:first-child, .wide th:first-child { position: sticky; left: 0; background: var(--paper); min-width: 0; }
  .wide .marks { display: none; } .under { display: table-row; } .wide .under td { padding-bottom: 6px; position: static; }
  .under mark { position: sticky; left: 0; display: inline-block; max-width: calc(100vw - 24px); white-space: normal; }
  .wide td { white-space: nowrap; } .wide td:last-child { white-space: normal; min-width: 9em; }
  .used, .used tbody { display: block; } .used tr { display: flex; flex-wrap: wrap; gap: 0 10px; align-items: center; padding: 4px 0; }
  .used th { flex: 0 0 6em; } .used td { padding: 0; overflow-wrap: anywhere; } .used td:first-child { min-width: 0; } .used td:empty { display: none; } .used td:last-child { flex: 1 1 100%; }
  li, .finding h3, .finding p, footer p, section > p { overflow-wrap: anywhere; } }
@media print { :root { --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --wash: #f4f4f4; --blue: #1766b8; --red: #b3261e; --amber: #8a5a00; --green: #1a7f4b; --on: #fff; }
  body { max-width: none; padding: 0; font-size: 11px; } .finding, tr, svg { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } details::details-content { content-visibility: visible; display: block; height: auto; } article { break-after: page; } }
`;
