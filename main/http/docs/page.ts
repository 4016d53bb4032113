import { ApiDocument, type Operation, schemaIn } from './document.ts';
import { anchorOf, exampleOf, fieldView, schemaView, type Html, html, prose } from './schema-view.ts';

interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
}

interface Group {
  readonly title: string;
  readonly about: string;
  readonly endpoints: readonly Endpoint[];
}

/** Renders an OpenAPI 3.1 document as a web page without scripts or external resources. All texts of the document are escaped. */
export function docsPage(json: unknown): string {
  const document = ApiDocument.parse(json);
  const { title, version, description } = document.info;
  const groups = groupsOf(document);
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} ${version}: the API</title><style>${{ markup: style }}</style></head>
<body><nav aria-label="Calls"><a class="skip" href="#calls">To the calls</a>${groups.map(indexView)}
<h2>Shapes</h2><ul>${Object.keys(document.components.schemas)
    .toSorted()
    .map(name => html`<li><a href="#${anchorOf(name)}">${name}</a></li>`)}</ul></nav>
<main id="calls"><h1>${title} ${version}: the API</h1><p>${prose(description)} The same for programs:
<a href="openapi.json">openapi.json</a>.</p>${introduction(document)}
${groups.map(({ title: name, about, endpoints }) => html`<h2>${name}</h2><p>${about}</p>${endpoints.map(endpoint => endpointView(endpoint, document))}`)}
<h2 id="problems">Problems</h2>${problemsView(document)}<h2>Shapes</h2>${shapesView(document)}</main></body></html>
`;
  return page.markup;
}

/** Groups endpoints by their first tag, in the order of the document's tags. Endpoints without a known tag come last. */
function groupsOf({ paths, tags }: ApiDocument): readonly Group[] {
  const endpoints = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, one]) => ({ ...one, path, method: verb.toUpperCase() })),
  );
  const tagNames = tags.map(({ name }) => name);
  const groups = tags.map(({ name, description }) => ({
    title: name,
    about: description,
    endpoints: endpoints.filter(({ tags: [tag] }) => tag === name),
  }));
  const others = endpoints.filter(({ tags: [tag = ''] }) => !tagNames.includes(tag));
  return [...groups, { title: 'Others', about: '', endpoints: others }].filter(
    group => group.endpoints.length > 0,
  );
}

const indexView = ({ title, endpoints }: Group): Html =>
  html`<h2>${title}</h2><ul>${endpoints.map(
    ({ operationId, method, path, summary }) =>
      html`<li><a href="#${operationId}" title="${summary}">${method} ${path}</a></li>`,
  )}</ul>`;

const introduction = ({ components }: ApiDocument): Html =>
  html`<h2>Authentication</h2><ul>${Object.entries(components.securitySchemes).map(
    ([name, { description, name: header }]) =>
      html`<li><code>${header ?? 'Authorization: Bearer'}</code> (${name}): ${description}</li>`,
  )}</ul><p>The lines for <code>curl</code> expect the address in <code>$URL</code> and the token in <code>$TOKEN</code>.</p>`;

function endpointView(endpoint: Endpoint, document: ApiDocument): Html {
  const { operationId, method, path, summary, parameters } = endpoint;
  const body = schemaIn(endpoint.requestBody);
  return html`<section aria-labelledby="${operationId}"><h3 id="${operationId}"><a href="#${operationId}"><code>${method} ${path}</code></a></h3>
<p>${summary}</p><p class="who">${prose(endpoint.description)}</p>
<pre><code>${curlLine(endpoint, document)}</code></pre>${
    parameters.length === 0
      ? null
      : html`<h4>Parameters</h4><ul>${parameters.map(({ name, in: place, required, description, schema }) =>
          fieldView(`${name} (${place})`, { ...schema, description }, required),
        )}</ul>`
  }${body === null ? null : html`<h4>Body</h4>${schemaView(body.schema)}`}${replyView(endpoint)}</section>
`;
}

const replyView = ({ responses }: Endpoint): Html =>
  html`${Object.entries(responses).map(([status, response]) => {
    if ('$ref' in response) return html`<p>Else a <a href="#problems">problem</a>.</p>`;
    const content = schemaIn(response);
    return html`<h4>Answer ${status}${content && ` (${content.type})`}</h4>${content && schemaView(content.schema)}`;
  })}`;

/** Returns a command for a POSIX shell. Names in capitals are placeholders. */
function curlLine(endpoint: Endpoint, document: ApiDocument): string {
  const { method, security, requestBody, responses } = endpoint;
  const schemes = security.flatMap(Object.keys).map(name => document.components.securitySchemes[name]);
  const header = schemes.map(scheme => scheme?.name ?? 'Authorization')[0];
  const body = schemaIn(requestBody);
  const isStream = Object.values(responses).some(
    response => 'content' in response && 'text/event-stream' in response.content,
  );
  return [
    'curl',
    isStream ? '-N' : null,
    method === 'GET' || body?.type === 'application/octet-stream' ? null : `-X ${method}`,
    header === undefined ? null : `-H "${header}: ${header === 'Authorization' ? 'Bearer ' : ''}$TOKEN"`,
    body && bodyOption(body),
    `"$URL${filledPath(endpoint)}"`,
  ]
    .filter(part => part !== null)
    .join(' ');
}

/** Returns the option of curl that sends the body, with an example value for JSON. */
function bodyOption({ type, schema }: NonNullable<ReturnType<typeof schemaIn>>): string {
  if (type === 'application/octet-stream') return '-T "$FILE"';
  const json = JSON.stringify(exampleOf(schema)).replaceAll("'", String.raw`'\''`);
  return `-H 'Content-Type: application/json' -d '${json}'`;
}

function filledPath({ path, parameters }: Endpoint): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const query = parameters
    .filter(({ in: place, required }) => place === 'query' && required)
    .map(({ name }) => `${name}=$${name.toUpperCase()}`);
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`;
}

const problemsView = ({ components }: ApiDocument): Html =>
  html`${Object.values(components.responses).map(response => {
    const content = schemaIn(response);
    return html`<p>${prose(response.description)}</p>${content && html`<h4>${content.type}</h4>${schemaView(content.schema)}`}`;
  })}`;

const shapesView = ({ components }: ApiDocument): Html =>
  html`${Object.entries(components.schemas)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(
      ([name, schema]) =>
        html`<section aria-labelledby="${anchorOf(name)}"><h3 id="${anchorOf(name)}"><a href="#${anchorOf(name)}">${name}</a></h3>${schemaView(schema)}</section>
`,
    )}`;

/** The page's only style sheet. The Content-Security-Policy header contains its hash, so the page must contain it unchanged. */
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
