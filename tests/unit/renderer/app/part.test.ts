/** Tests the parts of the panel that load only when they are needed. */
import { expect, test } from 'vitest';
import { loadPart, mayReload, PartUnavailable } from '../../../../renderer/app/part.ts';

test('resolves with a part of the panel after the part has loaded', async () => {
  expect(await loadPart(() => Promise.resolve('page'))).toBe('page');
});

test('rejects with PartUnavailable when a part of the panel fails to load', async () => {
  const failing = loadPart(() => Promise.reject(new Error('Unable to preload CSS for /assets/audit.css')));
  await expect(failing).rejects.toBeInstanceOf(PartUnavailable);
  await expect(failing).rejects.toThrow(/Unable to preload CSS/);
});

test('rejects when a part of the panel does not load in time', async () => {
  await expect(loadPart(() => new Promise<never>(() => undefined), 1)).rejects.toBeInstanceOf(
    PartUnavailable,
  );
});

test('allows one reload of the page every 30 s', () => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  };
  expect(mayReload(storage, 1_000_000)).toBe(true);
  expect(mayReload(storage, 1_010_000)).toBe(false);
  expect(mayReload(storage, 1_030_000)).toBe(true);
});
