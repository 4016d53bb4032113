/** Reads the JSON of rocm-smi and system_profiler, whose shape differs between versions. */

export type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** Returns the object in `text`, which may have warnings before and after it. Undefined when there is none. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)));
  } catch {
    return undefined;
  }
}

/**
 * Returns the first meaningful text among `keys`, cut to 200 characters. Empty texts, `N/A` and `Unknown` do not count.
 */
export function textAt(object: JsonObject | undefined, ...keys: readonly string[]): string | undefined {
  const isMeaningful = (value: unknown): value is string =>
    typeof value === 'string' && !['', 'N/A', 'Unknown'].includes(value.trim());
  return keys
    .map(key => object?.[key])
    .find(isMeaningful)
    ?.slice(0, 200);
}
