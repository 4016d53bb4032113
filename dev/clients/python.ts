/** Generates the Python client for an OpenAPI document: types for the schemas, and a method for each call that users make. */
import { z } from 'zod';
import { argumentName, docstring, hint, Schema, typeOf } from './python-types.ts';

const Content = z.record(z.string(), z.object({ schema: Schema.optional() }));
const Operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().optional(),
  security: z.array(z.record(z.string(), z.unknown())).default([]),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.enum(['path', 'query', 'header']),
        required: z.boolean().default(false),
        description: z.string().default(''),
        schema: Schema,
      }),
    )
    .default([]),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.looseObject({ 200: z.object({ content: Content }) }),
});
type Operation = z.output<typeof Operation>;

const Document = z.object({
  info: z.object({ version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), Schema) }),
});

/** The handwritten parts of the client: the text before the types, and the start of the class. */
export interface HandWritten {
  readonly runtime: string;
  readonly facade: string;
}

/** Returns the client as one Python file. Throws if a name of the API cannot be written in Python. */
export function pythonClient(document: unknown, { runtime, facade }: HandWritten): string {
  const { info, paths, components } = Document.parse(document);
  const methods = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).flatMap(([verb, operation]) =>
      isForUsers(operation) ? [methodOf(verb.toUpperCase(), path, operation)] : [],
    ),
  );
  const types = Object.entries(components.schemas).map(([name, schema]) => typeOf(name, schema));
  const beforeTypes = runtime.replaceAll('{version}', info.version).trimEnd();
  return `${beforeTypes}\n${types.join('')}${facade.trimEnd()}\n${methods.join('')}`;
}

/** Returns false for calls that only workers and browsers make. */
const isForUsers = ({ security, operationId }: Operation): boolean =>
  security.some(scheme => 'bearer' in scheme) || openCalls.has(operationId);

const openCalls: ReadonlySet<string> = new Set(['checkLiveness', 'checkReadiness', 'getVersion']);

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);

interface Argument {
  readonly name: string;
  /** The name in the request. */
  readonly wire: string;
  readonly hint: string;
  readonly description: string;
  readonly isRequired: boolean;
}

const argument = (wire: string, schema: Schema, isRequired: boolean, description?: string): Argument => ({
  name: argumentName(wire),
  wire,
  hint: hint(schema),
  description: description ?? schema.description ?? '',
  isRequired,
});

/** The arguments for a request body: one argument per field, or one for the whole body. */
interface Body {
  readonly fields: readonly Argument[];
  readonly whole: Argument | null;
}

function bodyOf({ requestBody }: Operation): Body {
  if (requestBody === undefined) return { fields: [], whole: null };
  const schema = requestBody.content['application/json']?.schema;
  const content = { name: 'content', wire: 'content', isRequired: true };
  if (schema === undefined) {
    const description = 'The bytes to upload, or an open binary file.';
    return { fields: [], whole: { ...content, hint: 'Union[bytes, IO[bytes]]', description } };
  }
  const { properties, required = [] } = schema;
  if (properties === undefined)
    return {
      fields: [],
      whole: { ...content, hint: hint(schema), description: schema.description ?? 'The body.' },
    };
  const fields = Object.entries(properties).map(([key, field]) =>
    argument(key, field, required.includes(key)),
  );
  return { fields, whole: null };
}

function methodOf(verb: string, path: string, operation: Operation): string {
  const { operationId, parameters, summary, description } = operation;
  const pathParameters = parameters.filter(parameter => parameter.in === 'path');
  const queryParameters = parameters.filter(parameter => parameter.in === 'query');
  const ids = pathParameters.map(({ name, schema, description: text }) => ({
    ...argument(name, schema, true, text),
    hint: 'str',
  }));
  const query = queryParameters.map(({ name, schema, required, description: text }) =>
    argument(name, withQueryTypes(schema), required, text),
  );
  const { fields, whole } = bodyOf(operation);
  const kind = kindOf(operation);
  const target: Argument = {
    name: 'to',
    wire: 'to',
    hint: 'Union[str, "os.PathLike[str]"]',
    description: 'The file to write.',
    isRequired: true,
  };
  const positional = [
    ...ids,
    ...(whole === null ? [] : [whole]),
    ...(kind.call === 'download' ? [target] : []),
  ];
  const keywordArguments = [...query, ...fields];
  const names = [...positional, ...keywordArguments].map(({ name }) => name);
  if (new Set(names).size < names.length) throw new Error(`${operationId} has two arguments of one name`);
  const lines = [
    ...positional.map(({ name, hint: type }) => `${name}: ${type}`),
    ...(keywordArguments.length > 0 ? ['*'] : []),
    ...keywordArguments
      .filter(({ isRequired }) => isRequired)
      .map(({ name, hint: type }) => `${name}: ${type}`),
    ...keywordArguments
      .filter(({ isRequired }) => !isRequired)
      .map(({ name, hint: type }) => `${name}: ${type} = UNSET`),
  ];
  const signature =
    lines.length === 0
      ? '(self)'
      : `(\n        self,\n${lines.map(line => `        ${line},\n`).join('')}    )`;
  const argumentDocs = [...positional, ...keywordArguments].map(
    ({ name, description: text }) => `${name}: ${text}`,
  );
  return (
    `\n    def ${snake(operationId)}${signature} -> ${kind.returns}:\n` +
    docstring(
      [`${summary}.`, ...(description === undefined ? [] : [description]), ...argumentDocs],
      '        ',
    ) +
    `        return ${callOf(verb, path, { ids, query, fields, whole, hasBody: operation.requestBody !== undefined }, kind.call)}\n`
  );
}

/** Returns a schema that also accepts numbers and booleans, because the client converts query values to text. */
const withQueryTypes = (schema: Schema): Schema =>
  schema.type === 'string' && schema.enum === undefined
    ? { anyOf: [schema, { type: 'integer' }, { type: 'boolean' }] }
    : schema;

interface Kind {
  readonly call: 'json' | 'text' | 'events' | 'download';
  readonly returns: string;
}

function kindOf({ responses }: Operation): Kind {
  const { content } = responses[200];
  const json = content['application/json'];
  if (json !== undefined)
    return { call: 'json', returns: json.schema === undefined ? 'Any' : hint(json.schema) };
  if ('text/event-stream' in content) return { call: 'events', returns: 'Iterator[Dict[str, Any]]' };
  return 'application/octet-stream' in content
    ? { call: 'download', returns: 'int' }
    : { call: 'text', returns: 'str' };
}

interface RequestArguments {
  readonly ids: readonly Argument[];
  readonly query: readonly Argument[];
  readonly fields: readonly Argument[];
  readonly whole: Argument | null;
  readonly hasBody: boolean;
}

function callOf(
  verb: string,
  path: string,
  { ids, query, fields, whole, hasBody }: RequestArguments,
  call: Kind['call'],
): string {
  const address =
    ids.length === 0
      ? JSON.stringify(path)
      : `_path(${[JSON.stringify(path), ...ids.map(({ wire, name }) => `${wire}=${name}`)].join(', ')})`;
  const dictionary = (args: readonly Argument[]): string =>
    `{${args.map(({ wire, name }) => `${JSON.stringify(wire)}: ${name}`).join(', ')}}`;
  const body = whole?.name ?? `_without_unset(${dictionary(fields)})`;
  const queryText = query.length === 0 ? 'None' : dictionary(query);
  switch (call) {
    case 'events':
      return `self._transport.events(${address}, ${queryText})`;
    case 'download':
      return `self._transport.download(${address}, to, ${queryText})`;
    case 'text':
    case 'json':
      return `self._transport.${call}(${[JSON.stringify(verb), address, queryText, ...(hasBody ? [body] : [])].join(', ')})`;
  }
}
