import { ApiDocument, type Operation, schemaIn } from './document.ts';
import { type Html, html, prose } from './html.ts';
import { anchorOf, exampleOf, fieldView, schemaView } from './schema-view.ts';
import { style } from './style.ts';

interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
}

interface Group {
  readonly title: string;
  readonly about: string;
  readonly endpoints: readonly Endpoint[];
}

/**
 * Renders an OpenAPI 3.1 document as a web page. The page needs no scripts and no external resources. All texts of the document are
 * escaped.
 */
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
${groups.map(({ title: name, about, endpoints }) => html`<h2>${name}</h2><p>${about}</p>${endpoints.map(one => endpointView(one, document))}`)}
<h2 id="problems">Problems</h2>${problemsView(document)}<h2>Shapes</h2>${shapesView(document)}</main></body></html>
`;
  return page.markup;
}

/** Groups endpoints by their first tag, in the order of the document's tags. Endpoints without a known tag come last. */
function groupsOf({ paths, tags }: ApiDocument): readonly Group[] {
  const endpoints = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, one]) => ({ ...one, path, method: verb.toUpperCase() })),
  );
  const known = tags.map(({ name }) => name);
  const groups = tags.map(({ name, description }) => ({
    title: name,
    about: description,
    endpoints: endpoints.filter(({ tags: [tag] }) => tag === name),
  }));
  const others = endpoints.filter(({ tags: [tag = ''] }) => !known.includes(tag));
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
  html`<h2>Who calls</h2><ul>${Object.entries(components.securitySchemes).map(
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
    const found = schemaIn(response);
    return html`<h4>Answer ${status}${found && ` (${found.type})`}</h4>${found && schemaView(found.schema)}`;
  })}`;

/** A command that can be pasted into a POSIX shell; names in capitals are placeholders. */
function curlLine(endpoint: Endpoint, document: ApiDocument): string {
  const { method, security, requestBody, responses } = endpoint;
  const schemes = security.flatMap(Object.keys).map(name => document.components.securitySchemes[name]);
  const header = schemes.map(one => one?.name ?? 'Authorization')[0];
  const body = schemaIn(requestBody);
  const isStream = Object.values(responses).some(
    one => 'content' in one && 'text/event-stream' in one.content,
  );
  return [
    'curl',
    isStream ? '-N' : null,
    method === 'GET' || body?.type === 'application/octet-stream' ? null : `-X ${method}`,
    header === undefined ? null : `-H "${header}: ${header === 'Authorization' ? 'Bearer ' : ''}$TOKEN"`,
    body === null
      ? null
      : body.type === 'application/octet-stream'
        ? '-T "$FILE"'
        : `-H 'Content-Type: application/json' -d '${JSON.stringify(exampleOf(body.schema)).replaceAll("'", String.raw`'\''`)}'`,
    `"$URL${filledPath(endpoint)}"`,
  ]
    .filter(part => part !== null)
    .join(' ');
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
    const found = schemaIn(response);
    return html`<p>${prose(response.description)}</p>${found && html`<h4>${found.type}</h4>${schemaView(found.schema)}`}`;
  })}`;

const shapesView = ({ components }: ApiDocument): Html =>
  html`${Object.entries(components.schemas)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(
      ([name, schema]) =>
        html`<section aria-labelledby="${anchorOf(name)}"><h3 id="${anchorOf(name)}"><a href="#${anchorOf(name)}">${name}</a></h3>${schemaView(schema)}</section>
`,
    )}`;
