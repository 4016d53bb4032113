import { z } from 'zod';
import type { Call, OwnRule } from '../../protocol/call.ts';
import { Problem, problems } from '../../protocol/problem.ts';

type Json = Readonly<Record<string, unknown>>;

/** Returns the JSON Schema. Shapes with an `id` become components of the document and are referenced. */
type Describe = (schema: z.ZodType, io: 'input' | 'output') => Json;

/** Returns the OpenAPI 3.1 document for these calls. */
export function describeCalls(calls: readonly Call[], version: string): Json {
  const schemas: Record<string, Json> = {};
  const describe = createDescribe(schemas);
  const paths: Record<string, Record<string, Json>> = {};
  for (const call of calls) {
    const path = call.path.replaceAll(/[:*](\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [call.method.toLowerCase()]: operationOf(call, describe) };
  }
  const description = `\`code\` says which problem it is: ${Object.keys(problems).join(', ')}.`;
  const content = { 'application/problem+json': { schema: describe(Problem, 'output') } };
  return {
    openapi: '3.1.0',
    info: { title: 'Trainyard', version, description: 'What the orchestrator of a training fleet answers.' },
    paths,
    components: { schemas, responses: { Problem: { description, content } }, securitySchemes },
  };
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'People and scripts.' },
  worker: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Worker-Token',
    description: 'A worker, with its own token.',
  },
  upload: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Upload-Token',
    description:
      'A trainer, with the upload token of its attempt; `X-SimpleTuner-Secret` is another name of the header.',
  },
  join: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Worker-Token',
    description:
      'A machine that is to become a worker, with the join token that was made for it. It works once.',
  },
};

function createDescribe(schemas: Record<string, Json>): Describe {
  return (schema, io) => {
    // Wrap the schema in a list, so that a named shape at the top becomes a reference too.
    const text = JSON.stringify(z.toJSONSchema(z.array(schema), { io, unrepresentable: 'any' }));
    const { items, $defs = {} } = Described.parse(
      JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')),
    );
    for (const [id, { id: _, ...shape }] of Object.entries($defs)) schemas[id] = shape;
    return items;
  };
}

const Shape = z.record(z.string(), z.unknown());
const Described = z.object({ items: Shape, $defs: z.record(z.string(), Shape).optional() });

function operationOf(call: Call, describe: Describe): Json {
  const verb = call.method.toLowerCase();
  const words = call.path.split(/[^a-z]+/i).filter(word => word !== '');
  const parameters = [
    ...parametersOf(describe(call.params, 'input'), 'path'),
    ...parametersOf(describe(call.query, 'input'), 'query'),
  ];
  const body = describe(call.body, 'input');
  const type = call.stream ?? 'application/json';
  const content = { [type]: { schema: describe(call.reply, 'output') } };
  return {
    operationId: [verb, ...words].join('_'),
    summary: call.summary,
    ...securityOf(call),
    ...(parameters.length > 0 && { parameters }),
    ...(call.takesBytes && { requestBody: { content: { 'application/octet-stream': { schema: {} } } } }),
    ...(hasFields(body) && { requestBody: { content: { 'application/json': { schema: body } } } }),
    responses: { 200: { description: 'Done', content }, default: { $ref: '#/components/responses/Problem' } },
  };
}

const forOwn: Readonly<Record<OwnRule, (permission: string) => string>> = {
  job: permission => `, or \`${permission}\` for a job of its own`,
  filtered: permission => `, or \`${permission}\` for its own jobs: the answer has no others`,
  shared: permission => `, or \`${permission}\``,
  refused: () => '',
};

function securityOf({ authority, own = 'refused' }: Call): Json {
  if (authority === 'open') return { security: [] };
  if (authority === 'worker' || authority === 'join' || authority === 'upload')
    return { security: [{ [authority]: [] }] };
  return {
    security: [{ bearer: [] }],
    description: `Needs the permission \`${authority}\`${forOwn[own](`${authority}.own`)}.`,
  };
}

const hasFields = ({ properties = {}, propertyNames, $ref }: Json): boolean =>
  $ref !== undefined || propertyNames !== undefined || Object.keys(Shape.parse(properties)).length > 0;

function parametersOf({ properties = {}, required = [] }: Json, place: 'path' | 'query'): readonly Json[] {
  const needed = z.array(z.string()).parse(required);
  return Object.entries(Shape.parse(properties)).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || needed.includes(name),
    schema,
  }));
}
