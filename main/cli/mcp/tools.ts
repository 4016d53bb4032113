import { type Permission, reachOf } from '../../../protocol/call.ts';
import { ObjectSchema, OpenApiDocument, type OpenApiOperation } from '../../../protocol/openapi.ts';

/** A JSON Schema that is passed on without parsing. */
type Json = Readonly<Record<string, unknown>>;

/** A tool of the Model Context Protocol, and the operation of the API that it calls. */
export interface Tool {
  readonly definition: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: ObjectSchema;
    readonly annotations: { readonly readOnlyHint: boolean; readonly destructiveHint: boolean };
  };
  readonly operation: {
    readonly method: string;
    /** The path with parameters in braces, as in OpenAPI. */
    readonly path: string;
    readonly parameters: readonly { readonly name: string; readonly in: 'path' | 'query' }[];
  };
}

export interface ToolOptions {
  /** Permissions of the token. Operations that the token may not call are left out. */
  readonly permissions: readonly Permission[];
  /** Whether to include operations that change something. */
  readonly mayWrite: boolean;
}

/** Returns the tools for the operations in the orchestrator's OpenAPI document. Throws if the document is malformed. */
export function toolsOf(document: unknown, { permissions, mayWrite }: ToolOptions): readonly Tool[] {
  const { paths, components } = OpenApiDocument.parse(document);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const isRead = method === 'get';
      if (!(isRead || mayWrite) || !isOffered(operation, permissions)) return [];
      return [toolFor(path, method.toUpperCase(), operation, components.schemas)];
    }),
  );
}

/** Operations whose reply contains a token. A language model must not see tokens. */
const secretReplies: ReadonlySet<string> = new Set(['createWorker', 'rotateWorkerToken', 'createJoinToken']);

/** Content types that a language model can read. Event streams are not among them, because they never end. */
const readable = ['application/json', 'application/x-ndjson', 'text/plain', 'text/csv'];

function isOffered(operation: OpenApiOperation, permissions: readonly Permission[]): boolean {
  const { operationId, requestBody, responses, 'x-permission': authority, 'x-own': own } = operation;
  if (authority === undefined || authority.endsWith('.own') || authority === 'admin.tokens') return false;
  if (secretReplies.has(operationId)) return false;
  const isReadable = Object.keys(responses[200].content).some(type => readable.includes(type));
  const takesJson = requestBody === undefined || requestBody.content['application/json'] !== undefined;
  return isReadable && takesJson && isPermitted(permissions, authority, own);
}

function isPermitted(
  permissions: readonly Permission[],
  authority: Permission,
  own: OpenApiOperation['x-own'],
): boolean {
  return isFull(authority) && reachOf(permissions, { authority, ...(own && { own }) }) !== 'none';
}

type Full = Exclude<Permission, `${string}.own`>;
const isFull = (permission: Permission): permission is Full => !permission.endsWith('.own');

function toolFor(path: string, method: string, operation: OpenApiOperation, schemas: Schemas): Tool {
  const { operationId: name, summary, parameters, requestBody } = operation;
  const body = requestBody?.content['application/json']?.schema;
  const properties = {
    ...Object.fromEntries(
      parameters.map(({ name: key, schema, description }) => [
        key,
        { ...schema, ...(description && { description }) },
      ]),
    ),
    ...(body && { body }),
  };
  const required = [
    ...parameters.filter(each => each.required).map(each => each.name),
    ...(body ? ['body'] : []),
  ];
  return {
    definition: {
      name,
      description: summary,
      inputSchema: withDefinitions({ type: 'object', properties, required }, schemas),
      annotations: { readOnlyHint: method === 'GET', destructiveHint: method !== 'GET' },
    },
    operation: { method, path, parameters: parameters.map(each => ({ name: each.name, in: each.in })) },
  };
}

type Schemas = Readonly<Record<string, Json>>;

/** Adds the components to which the schema refers, because a tool's schema must be self-contained. */
function withDefinitions(schema: ObjectSchema, schemas: Schemas): ObjectSchema {
  const used = new Map<string, Json>();
  const collect = (text: string): void => {
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      const component = schemas[name];
      if (used.has(name) || component === undefined) continue;
      used.set(name, component);
      collect(JSON.stringify(component));
    }
  };
  collect(JSON.stringify(schema));
  if (used.size === 0) return schema;
  const whole = JSON.stringify({ ...schema, $defs: Object.fromEntries(used) });
  return ObjectSchema.parse(JSON.parse(whole.replaceAll('"#/components/schemas/', '"#/$defs/')));
}
