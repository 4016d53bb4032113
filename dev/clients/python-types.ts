/** Python types, comments and docstrings for the schemas of an OpenAPI document. */
import { z } from 'zod';

export const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.looseObject({
    $ref: z.string().optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    description: z.string().optional(),
    const: z.unknown().optional(),
    enum: z.array(z.unknown()).optional(),
    anyOf: z.array(Schema).optional(),
    oneOf: z.array(Schema).optional(),
    items: Schema.optional(),
    properties: z.record(z.string(), Schema).optional(),
    required: z.array(z.string()).optional(),
    additionalProperties: z.union([z.boolean(), Schema]).optional(),
  }),
);
export interface Schema {
  readonly $ref?: string | undefined;
  /** A list, such as `["string", "null"]`, for a value that may be null. */
  readonly type?: string | readonly string[] | undefined;
  readonly description?: string | undefined;
  readonly const?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly anyOf?: readonly Schema[] | undefined;
  readonly oneOf?: readonly Schema[] | undefined;
  readonly items?: Schema | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: boolean | Schema | undefined;
}

/** Words that cannot be names in Python. */
const reserved: ReadonlySet<string> = new Set([
  'from',
  'in',
  'is',
  'not',
  'class',
  'global',
  'lambda',
  'self',
]);

/** Returns the Python name of an argument. Throws if the name cannot be written in Python. */
export function argumentName(name: string): string {
  const safe = reserved.has(name) ? `${name}_` : name.replaceAll('-', '_');
  if (!/^[A-Za-z_]\w*$/.test(safe)) throw new Error(`${name} cannot be the name of an argument in Python`);
  return safe;
}

const refName = (ref: string): string => ref.split('/').at(-1) ?? ref;

/** Returns the Python type hint for a schema. Objects without a named schema become dictionaries. */
export function hint(schema: Schema): string {
  if (schema.$ref !== undefined) return refName(schema.$ref);
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return union(options);
  if (schema.const !== undefined) return literal([schema.const]);
  if (schema.enum !== undefined) return literal(schema.enum);
  if (Array.isArray(schema.type)) return union(schema.type.map((type: string) => ({ ...schema, type })));
  switch (schema.type) {
    case 'string':
      return 'str';
    case 'integer':
      return 'int';
    case 'number':
      return 'float';
    case 'boolean':
      return 'bool';
    case 'null':
      return 'None';
    case 'array':
      return `List[${schema.items === undefined ? 'Any' : hint(schema.items)}]`;
    case 'object':
      return `Dict[str, ${valueHint(schema)}]`;
    case undefined:
    default:
      return 'Any';
  }
}

/** Returns the type hint for the values of a dictionary; `Any` for objects with named properties, whose types differ. */
function valueHint({ additionalProperties, properties }: Schema): string {
  const hasOneType = typeof additionalProperties === 'object' && properties === undefined;
  return hasOneType ? hint(additionalProperties) : 'Any';
}

const literal = (values: readonly unknown[]): string => `Literal[${values.map(literalValue).join(', ')}]`;

function literalValue(value: unknown): string {
  if (typeof value !== 'boolean') return JSON.stringify(value);
  return value ? 'True' : 'False';
}

function union(options: readonly Schema[]): string {
  const hints = [...new Set(options.map(hint))];
  const values = hints.filter(name => name !== 'None');
  if (values.includes('Any') || values.length === 0) return 'Any';
  const [first = 'Any'] = values;
  const type = values.length === 1 ? first : `Union[${values.join(', ')}]`;
  return hints.includes('None') ? `Optional[${type}]` : type;
}

/** Returns the definition of a named type: a TypedDict with commented keys for an object, otherwise an alias. */
export function typeOf(name: string, schema: Schema): string {
  const { properties, description = '' } = schema;
  if (properties === undefined) return `\n\n${wrapped(description, '# ')}${name} = ${hint(schema)}\n`;
  const fields = Object.entries(properties).map(([key, field]) => {
    if (!/^[A-Za-z_]\w*$/.test(key) || reserved.has(key))
      throw new Error(`${name}.${key} cannot be a key in Python`);
    return `${wrapped(field.description ?? '', '    # ')}    ${key}: ${hint(field)}\n`;
  });
  return `\n\nclass ${name}(TypedDict, total=False):\n${docstring([description], '    ')}\n${fields.join('')}`;
}

const maxColumns = 100;

/** Wraps a text at the maximum width. Each line starts with the prefix. */
function wrapped(text: string, prefix: string): string {
  if (text === '') return '';
  const lines: string[] = [];
  let line = '';
  for (const word of text.replaceAll(/\s+/g, ' ').trim().split(' ')) {
    if (line !== '' && prefix.length + line.length + 1 + word.length > maxColumns) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map(content => `${prefix}${content}\n`).join('');
}

/** Returns the paragraphs as a docstring. Escapes characters in the API's texts that would end the docstring. */
export function docstring(paragraphs: readonly string[], indent: string): string {
  const safe = paragraphs
    .filter(text => text !== '')
    .map(text => text.replaceAll('\\', '\\\\').replaceAll('"""', "'''").replace(/"$/, '".'));
  const [first = '', ...rest] = safe;
  const body = rest.map(text => `\n${wrapped(text, indent)}`).join('');
  const summary = wrapped(`"""${first}`, indent).trimEnd();
  return body === '' ? `${summary}"""\n` : `${summary}\n${body}${indent}"""\n`;
}
