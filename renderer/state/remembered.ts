import { useState } from 'react';

/**
 * Returns a choice that this browser remembers, and a function that changes it. `parse` returns the choice for a stored
 * value, which may be anything. Keep `key` the same between renders.
 */
export function useRemembered<T>(
  key: string,
  parse: (stored: unknown) => T,
): readonly [T, (next: T) => void] {
  const [value, setValue] = useState(() => parse(readStored(key)));
  const choose = (next: T): void => {
    setValue(next);
    try {
      localStorage.setItem(`trainyard.${key}`, JSON.stringify(next));
    } catch {
      // The browser stores nothing, for example in a private window. The choice then lasts until the page is closed.
    }
  };
  return [value, choose];
}

function readStored(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(`trainyard.${key}`) ?? 'null');
  } catch {
    return null;
  }
}
