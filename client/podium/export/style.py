"""The style of an exported page: light and dark, for a screen and for paper."""

from __future__ import annotations

CSS = """
:root{color-scheme:light dark;--paper:#fff;--ground:#f4f5f7;--ink:#1d2129;--soft:#5c6470;
--rule:#dfe2e8;--code:#f6f7f9;--onward:#3f74d6;--back:#8b5fc9;--failed:#d0453b;--done:#2b8a4b;
--person:#c07f0a;--guardrail:#d0661c;--stopped:#7b8494;--error:#d0453b;--open:#0e8fa8;
--wait:#f0b93a;--wait-ground:#fdf0cd;--still:#aab2bf;--still-ground:#e9ecf1}
@media (prefers-color-scheme:dark){:root{--paper:#1a1d23;--ground:#121419;--ink:#e6e8ec;
--soft:#9aa3b0;--rule:#31363f;--code:#14171c;--onward:#6b9bf0;--back:#b08ae8;--failed:#f0776d;
--done:#57b977;--person:#e3a93c;--guardrail:#ee8d4c;--stopped:#98a1b0;--error:#f0776d;
--open:#3fbcd4;--wait:#c8932a;--wait-ground:#463818;--still:#6a7280;--still-ground:#2a2f37}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1180px;margin:0 auto;padding:28px 24px 60px}
a{color:inherit}
h1{font-size:27px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:18px;margin:38px 0 12px}
h3{font-size:16px;margin:0;display:flex;flex-wrap:wrap;gap:6px 10px;align-items:baseline}
p{margin:8px 0}
small,.soft{color:var(--soft);font-size:13px;font-weight:400}
pre,code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{background:var(--code);border:1px solid var(--rule);border-radius:7px;padding:10px 12px;
margin:8px 0;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext}
code{overflow-wrap:anywhere}
.card{background:var(--paper);border:1px solid var(--rule);border-radius:12px;padding:18px 20px}
header.card{border-top:5px solid var(--tone);padding:22px 24px}
.ended{font-size:17px;font-weight:600;color:var(--tone);margin:10px 0 2px}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(170px,1fr));gap:12px 22px;
margin:18px 0 0}
dl div{min-width:0}dl .wide{grid-column:span 2}
dt{color:var(--soft);font-size:12px}dd{margin:0;overflow-wrap:anywhere}
dd.big{font-size:20px;font-weight:600;line-height:1.3}
.next{border-left:3px solid var(--tone);padding-left:14px;margin-top:18px}
.next ul{margin:4px 0;padding:0;list-style:none}
.picture{overflow-x:auto}
svg.time{display:block;width:100%;min-width:760px;height:auto}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
fill:var(--ink)}
svg text.scale{fill:var(--soft);font-size:11px}
svg text.step{font-size:13px;font-weight:600}
svg text.number{fill:#fff;font-weight:700;pointer-events:none}
.tick{stroke:var(--rule)}.lane{stroke:var(--rule);stroke-dasharray:2 4}
.cut{fill:var(--still-ground);opacity:.55}
.link{fill:none;stroke:var(--soft);stroke-width:1.3;opacity:.7}
.visit{fill:var(--tone);fill-opacity:.16;stroke:var(--tone);stroke-opacity:.55}
.turn{fill:var(--tone)}
.command{stroke:var(--paper);stroke-width:1}
.command.passed{fill:var(--done)}.command.failed{fill:var(--failed)}
.waiting{fill:url(#waiting);stroke:var(--wait)}
.paused{fill:url(#paused);stroke:var(--still)}.parked{fill:url(#parked);stroke:var(--still)}
.wait-ground{fill:var(--wait-ground)}.wait-line{fill:var(--wait)}
.still-ground{fill:var(--still-ground)}.still-line{fill:var(--still)}
.restart{stroke:var(--done);stroke-dasharray:5 4;stroke-width:1.5}
line.end{stroke:var(--tone);stroke-width:2}
svg text.end{fill:var(--tone);font-size:19px;font-weight:700}
svg a:hover .turn,svg a:focus .turn{filter:brightness(1.12)}
svg a:focus{outline:none}svg a:focus .visit{stroke-width:3;stroke-opacity:1}
.onward{--tone:var(--onward)}.back{--tone:var(--back)}.failed{--tone:var(--failed)}
.done{--tone:var(--done)}.person{--tone:var(--person)}.guardrail{--tone:var(--guardrail)}
.stopped{--tone:var(--stopped)}.error{--tone:var(--error)}.open{--tone:var(--open)}
.legend{display:flex;flex-wrap:wrap;gap:5px 18px;margin:12px 0 0;padding:0;list-style:none;
color:var(--soft);font-size:13px}
.legend li{display:flex;align-items:center;gap:6px}
.legend svg{width:16px;height:12px;flex:none}
.way{display:flex;flex-wrap:wrap;gap:8px 0;margin:0;padding:0;list-style:none}
.way li{display:flex;align-items:center;font-size:13px}
.way li:not(:last-child)::after{content:"→";color:var(--soft);padding:0 7px}
.way a,.pill{display:inline-block;border:1px solid var(--tone);border-radius:7px;padding:2px 9px;
text-decoration:none;line-height:1.35;color:var(--ink)}
.way a:hover,.way a:focus{background:var(--code)}
.way b,.pill b{font-weight:600}.way span{display:block;color:var(--tone);font-size:12px}
.way .last{background:var(--tone);color:var(--paper);font-weight:600}
.pill{color:var(--tone);font-size:13px;font-weight:600;border-radius:20px}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:right;padding:6px 10px;border-bottom:1px solid var(--rule);
font-variant-numeric:tabular-nums;vertical-align:middle}
th{color:var(--soft);font-weight:500;font-size:12px;white-space:nowrap}
th:first-child,td:first-child{text-align:left;font-weight:600;min-width:7em}
td:first-child{overflow-wrap:anywhere}
tr:last-child td{border-bottom:0}
td.share{width:34%}td.share svg{display:block;width:100%;height:10px}
.share rect{fill:var(--onward)}
section.step{margin:0 0 14px;border-left:5px solid var(--tone);scroll-margin-top:12px}
section.step:target{box-shadow:0 0 0 2px var(--tone)}
.step h3 .at{color:var(--soft);font-weight:600}
.words{white-space:pre-wrap;overflow-wrap:anywhere;margin:10px 0;unicode-bidi:plaintext}
.drawn{white-space:normal}.drawn p{margin:8px 0}.drawn ul,.drawn ol{margin:8px 0;padding-left:22px}
.drawn h4,.drawn h5,.drawn h6{margin:14px 0 6px;line-height:1.3}.drawn h4{font-size:16px}
.drawn h5,.drawn h6{font-size:15px}
.drawn table{display:block;width:fit-content;max-width:100%;overflow-x:auto;margin:10px 0}
.drawn th,.drawn td{text-align:left;min-width:0;font-weight:400;vertical-align:top}
.drawn th{font-weight:600}.drawn td:first-child,.drawn th:first-child{min-width:0;font-weight:400}
.drawn blockquote{margin:8px 0;padding-left:12px;border-left:3px solid var(--rule);
color:var(--soft)}.drawn :not(pre)>code{background:var(--code);padding:1px 4px;border-radius:4px}
.drawn hr{border:0;border-top:1px solid var(--rule)}
.changes h3{margin:16px 0 4px;font-size:14px;color:var(--soft)}
.commits,.calls{margin:6px 0;padding:0;list-style:none}.commits li,.calls li{margin:3px 0;
overflow-wrap:anywhere}
.files td{text-align:right;width:1%;white-space:nowrap;padding:4px 8px}
.files td:first-child{text-align:left;width:auto;white-space:normal;font-weight:400}
.rail{display:none;margin:0;padding:0;list-style:none}
.rail li{margin:0 0 10px}.rail a{display:block;text-decoration:none}
.rail small{display:block}.rail svg{display:block;width:100%;height:12px;margin-top:3px}
.rail .ground{fill:var(--ground)}
.rail .last{background:var(--tone);color:var(--paper)}
.meta{color:var(--soft);font-size:13px;margin:3px 0 0}
.reply{margin-top:12px;padding-top:10px;border-top:1px dashed var(--rule);font-size:13px;
color:var(--soft)}
.warn{color:var(--failed);font-size:14px;margin:6px 0}
.good{color:var(--done)}.bad{color:var(--failed)}
.asked{border:1px solid var(--wait);background:var(--wait-ground);border-radius:9px;
padding:10px 14px;margin:10px 0}
.asked p{margin:4px 0}
details{margin:8px 0}
summary{cursor:pointer;color:var(--soft);font-size:13px;border-radius:5px;width:fit-content;
max-width:100%}
summary:focus-visible,a:focus-visible{outline:2px solid var(--onward);outline-offset:2px}
footer{margin-top:34px;color:var(--soft);font-size:13px}
@media print{:root{--ground:#fff}body{font-size:12px}main{max-width:none;padding:0 2px}
.card{border-radius:0;break-inside:avoid-page}section.step{break-inside:auto}
h2,h3{break-after:avoid}svg.time{min-width:0}.picture{overflow:visible}
svg *,.way *,section,header{print-color-adjust:exact;-webkit-print-color-adjust:exact}
details.prompt:not([open]){display:none}}
@media (max-width:640px){main{padding:14px 10px 40px}.card{padding:14px}dl .wide{grid-column:auto}
th,td{padding:6px 5px}th.share,td.share{display:none}.picture{height:0;overflow:hidden}
.rail{display:block}h1{font-size:22px}dl{grid-template-columns:repeat(2,minmax(0,1fr))}}
@media print{.rail{display:none}.picture{height:auto}}
"""
