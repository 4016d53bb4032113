import { expect, it } from 'vitest';
import { z } from 'zod';
import { describeCalls } from '../../../../../main/http/docs/openapi.ts';
import { everyCall } from '../../../../support/every-call.ts';

const Node = z.record(z.string(), z.unknown());
type Node = z.output<typeof Node>;
const asNode = (value: unknown): Node => Node.safeParse(value).data ?? {};
const nodes = (value: unknown): readonly Node[] => z.array(Node).safeParse(value).data ?? [];

const document = asNode(JSON.parse(JSON.stringify(describeCalls(everyCall, '1.2.3'))));
const components = asNode(document['components']);
const schemas = asNode(components['schemas']);
const operations = Object.entries(asNode(document['paths'])).flatMap(([path, verbs]) =>
  Object.entries(asNode(verbs)).map(([verb, operation]) => ({
    name: `${verb.toUpperCase()} ${path}`,
    operation: asNode(operation),
  })),
);

// A description starts with a character that is not a space, and ends with a period.
const isSentence = (value: unknown): boolean => typeof value === 'string' && /^\S.*\.$/s.test(value);

// A schema can get its description from a referenced schema, or from one of its alternatives.
function isDescribed(schema: Node): boolean {
  const { $ref: reference } = schema;
  if (isSentence(schema['description'])) return true;
  if (typeof reference === 'string')
    return isSentence(asNode(schemas[reference.split('/').at(-1) ?? ''])['description']);
  return [...nodes(schema['anyOf']), ...nodes(schema['oneOf'])].some(isDescribed);
}

// Returns the paths of all properties without a description, at any depth.
function findUndescribed(schema: Node, schemaPath: string): readonly string[] {
  const undescribed: string[] = [];
  for (const [name, value] of Object.entries(asNode(schema['properties']))) {
    const [property, propertyPath] = [asNode(value), `${schemaPath}.${name}`];
    if (!isDescribed(property)) undescribed.push(propertyPath);
    undescribed.push(...findUndescribed(property, propertyPath));
  }
  const alternatives = ['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap(key => nodes(schema[key]));
  const elements = [schema['items'], schema['additionalProperties']].filter(Boolean).map(asNode);
  for (const innerSchema of [...alternatives, ...elements])
    undescribed.push(...findUndescribed(innerSchema, schemaPath));
  return undescribed;
}

const schemasOf = (body: unknown): readonly Node[] =>
  Object.values(asNode(asNode(body)['content'])).map(media => asNode(asNode(media)['schema']));

it('describes every property of requests and responses', () => {
  const undescribed = operations.flatMap(({ name, operation }) => [
    ...schemasOf(operation['requestBody']).flatMap(schema => findUndescribed(schema, `${name} request`)),
    ...Object.values(asNode(operation['responses'])).flatMap(response =>
      schemasOf(response).flatMap(schema => findUndescribed(schema, `${name} response`)),
    ),
  ]);
  expect(undescribed).toEqual([]);
});

it('describes every shared schema and its properties', () => {
  const undescribed = Object.entries(schemas).flatMap(([name, schema]) => [
    ...(isSentence(asNode(schema)['description']) ? [] : [name]),
    ...findUndescribed(asNode(schema), name),
  ]);
  expect(undescribed).toEqual([]);
});

it('describes every parameter of every operation', () => {
  const parameters = operations.flatMap(({ name, operation }) =>
    nodes(operation['parameters']).map(parameter => ({
      name: `${name} ${String(parameter['name'])}`,
      parameter,
    })),
  );
  expect(parameters.length).toBeGreaterThan(100);
  const undescribed = parameters.filter(({ parameter }) => !isSentence(parameter['description']));
  expect(undescribed.map(({ name }) => name)).toEqual([]);
});

it('describes every operation and each of its responses', () => {
  const undescribed = operations.filter(
    ({ operation }) =>
      !isSentence(operation['description']) ||
      Object.values(asNode(operation['responses'])).some(
        response => !('$ref' in asNode(response)) && !isSentence(asNode(response)['description']),
      ),
  );
  expect(undescribed.map(({ name }) => name)).toEqual([]);
});

it('gives each operation one tag that the document describes', () => {
  const tags = nodes(document['tags']);
  expect(tags.filter(tag => !isSentence(tag['description']))).toEqual([]);
  const knownTags = tags.map(tag => tag['name']);
  const used = operations.map(({ operation }) => operation['tags']);
  expect(
    used.filter(list => !Array.isArray(list) || list.length !== 1 || !knownTags.includes(list[0])),
  ).toEqual([]);
  expect(knownTags.filter(tag => !used.flat().includes(tag))).toEqual([]);
});

it('gives each operation a readable and unique id', () => {
  const ids = operations.map(({ operation }) => String(operation['operationId']));
  expect(ids.filter(id => !/^[a-z]+[A-Z][A-Za-z\d]+$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(operations.length);
});
