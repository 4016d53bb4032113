/** Reading the JSON that rocm-smi and system_profiler print, whose shapes vary from version to version. */

export type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** The object in `text`; tools print warnings before it and after it. Undefined when there is none. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)));
  } catch {
    return undefined;
  }
}

/** The first of `keys` that holds a text that says something; `N/A` and `Unknown` do not. */
export function textAt(object: JsonObject | undefined, ...keys: readonly string[]): string | undefined {
  const says = (value: unknown): value is string =>
    typeof value === 'string' && !['', 'N/A', 'Unknown'].includes(value.trim());
  return keys
    .map(key => object?.[key])
    .find(says)
    ?.slice(0, 200);
}
