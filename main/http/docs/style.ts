/** The page's only style sheet. The Content-Security-Policy header allows it by its hash, so the page must embed it unchanged. */
export const style = `
:root { color-scheme: light dark; --line: #8886; --soft: light-dark(#f3f3f0, #222); --quiet: light-dark(#555, #aaa);
  --link: light-dark(#0b57a4, #8ec5ff); }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff, #161616); color: light-dark(#1b1b1b, #e8e8e8);
  display: grid; grid-template-columns: minmax(14rem, 22rem) minmax(0, 60rem); }
a { color: var(--link); } a:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1rem; border-right: 1px solid var(--line); background: var(--soft); }
nav ul { list-style: none; margin: 0 0 1rem; padding: 0; } nav li { margin: .15rem 0; overflow-wrap: anywhere; font-size: .85rem; }
nav h2 { font-size: .85rem; margin: .75rem 0 .25rem; color: var(--quiet); }
main { padding: 1rem 2rem 6rem; } h1 { margin-top: 0; }
section { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
h3 { overflow-wrap: anywhere; margin-bottom: .25rem; } h3 a { color: inherit; text-decoration: none; } h3 a:hover { text-decoration: underline; }
h4 { margin: 1rem 0 .25rem; font-size: .95rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 4px; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
main section ul { list-style: none; margin: .25rem 0; padding-left: .75rem; border-left: 2px solid var(--line); }
main section li { overflow-wrap: anywhere; } main section li > code:first-child { font-weight: 600; } em { color: light-dark(#a03a00, #ffb27d); font-style: normal; font-size: .8em; }
small { color: var(--quiet); } .who { color: var(--quiet); margin: 0; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: 1rem; background: Canvas; padding: .5rem; z-index: 1; }
@media (max-width: 55rem) { body { display: block; } nav { position: static; height: auto; border: 0; } main { padding: 1rem; } }
@media print { nav { display: none; } body { display: block; } }
`;
