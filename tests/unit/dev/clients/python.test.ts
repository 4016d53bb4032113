import { describe, expect, test } from 'vitest';
import { pythonClient } from '../../../../dev/clients/python.ts';

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const operation = (changes: object = {}) => ({
  operationId: 'getThing',
  summary: 'Get a thing',
  security: [{ bearer: [] }],
  responses: { 200: json({ type: 'object' }) },
  ...changes,
});
const clientFor = (paths: object, schemas: object = {}): string =>
  pythonClient(
    { info: { version: '1.2.3' }, paths, components: { schemas } },
    { runtime: '{version}', facade: 'class Trainyard:' },
  );

describe('pythonClient', () => {
  test('writes a method for each call of users, and none for calls of workers', () => {
    const text = clientFor({
      '/things': { get: operation() },
      '/workers': { post: operation({ operationId: 'registerWorker', security: [{ worker: [] }] }) },
      '/health/live': { get: operation({ operationId: 'checkLiveness', security: [] }) },
    });
    expect(text).toContain('    def get_thing(self) -> Dict[str, Any]:\n        """Get a thing."""\n');
    expect(text).toContain('return self._transport.json("GET", "/things", None)');
    expect(text).toContain('def check_liveness(self)');
    expect(text).not.toContain('register_worker');
  });

  test('writes methods with positional ids and keyword arguments, required arguments first', () => {
    const parameters = [
      { name: 'id', in: 'path', required: true, description: 'Its id.', schema: { type: 'string' } },
      { name: 'limit', in: 'query', schema: { type: 'integer' } },
    ];
    const body = {
      type: 'object',
      properties: { note: { type: ['string', 'null'] }, from: { type: 'number' } },
      required: ['from'],
    };
    const text = clientFor({ '/things/{id}': { post: operation({ parameters, requestBody: json(body) }) } });
    expect(text).toContain(
      '        self,\n        id: str,\n        *,\n        from_: float,\n        limit: int = UNSET,\n        note: Optional[str] = UNSET,\n    )',
    );
    expect(text).toContain(
      'self._transport.json("POST", _path("/things/{id}", id=id), {"limit": limit}, _without_unset({"note": note, "from": from_}))',
    );
    expect(text).toContain('        id: Its id.\n');
  });

  test('writes named schemas as TypedDict classes', () => {
    const text = clientFor(
      {},
      {
        Thing: {
          type: 'object',
          description: 'A thing.',
          properties: { kind: { enum: ['a', 'b'], description: 'Its kind.' } },
        },
        Either: { oneOf: [{ $ref: '#/components/schemas/Thing' }, { type: 'null' }] },
      },
    );
    expect(text).toContain(
      'class Thing(TypedDict, total=False):\n    """A thing."""\n\n    # Its kind.\n    kind: Literal["a", "b"]\n',
    );
    expect(text).toContain('Either = Optional[Thing]\n');
  });

  test('writes the return types of calls that answer with text, events or a file', () => {
    const operationWith = (type: string) => operation({ responses: { 200: { content: { [type]: {} } } } });
    /** Returns the return type of the method for this content type. */
    const returnType = (type: string) =>
      /-> (.*):\n/.exec(clientFor({ '/things': { get: operationWith(type) } }))?.[1];
    expect(['text/plain', 'text/event-stream', 'application/octet-stream'].map(returnType)).toEqual([
      'str',
      'Iterator[Dict[str, Any]]',
      'int',
    ]);
  });

  test('escapes quotes and backslashes in descriptions, so that they do not end a docstring', () => {
    const text = clientFor({
      '/things': { get: operation({ description: 'Says """ and C:\\new, and "end"' }) },
    });
    expect(text).toContain("Says ''' and C:\\\\new, and");
    expect(text).not.toContain('"end""""');
  });

  test.each([
    [
      'two arguments with the same name',
      {
        parameters: [{ name: 'id', in: 'path', schema: {} }],
        requestBody: json({ type: 'object', properties: { id: {} } }),
      },
    ],
    [
      'an argument that is no Python identifier',
      { requestBody: json({ type: 'object', properties: { '2nd': {} } }) },
    ],
  ])('throws for a call with %s', (_title, changes) => {
    expect(() => clientFor({ '/things/{id}': { get: operation(changes) } })).toThrow();
  });
});
