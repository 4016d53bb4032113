/** An item of a roster, unique by its id. */
export interface Listed {
  readonly id: string;
}

/** Items by their id: a hash table for many short-lived ids. */
export interface Roster<T extends Listed> {
  get(id: string): T | undefined;
  /** Adds the item. Returns the previous item with this id, if any. */
  set(item: T): T | undefined;
  /** Removes the item with this id and returns it. */
  take(id: string): T | undefined;
}

/** Minimum number of slots. */
const fewest = 64;

/** The tags of a slot that was never used, and of one that was vacated. All other tags are part of a hash. */
const never = 0;
const gone = 1;

/**
 * Replaces a `Map`, which is slow when ids come and go by the hundred thousand. A `Map` reads entries outside of the
 * CPU cache to find that an id is new. It is also rebuilt repeatedly, and the garbage collector retains its old tables.
 * Here, one byte per slot nearly always suffices, and these bytes are adjacent.
 */
export function createRoster<T extends Listed>(): Roster<T> {
  let tags = new Uint8Array(fewest);
  let items = emptySlots<T>(fewest);
  /** Number of slots with a tag other than `never`. A search ends at the first `never`. */
  let used = 0;

  const near = (slot: number, by: 1 | -1): number => (slot + by) & (tags.length - 1);

  /** The slot of this id, or the `never` slot at the end of the search. */
  const slotOf = (id: string, hash: number): number => {
    const tag = tagOf(hash);
    let slot = hash & (tags.length - 1);
    while (tags[slot] !== never && (tags[slot] !== tag || items[slot]?.id !== id)) slot = near(slot, 1);
    return slot;
  };
  /** Adds a new item in the first vacated or unused slot on its search path. */
  const enter = (item: T, hash: number): void => {
    let slot = hash & (tags.length - 1);
    while (Number(tags[slot]) > gone) slot = near(slot, 1);
    if (tags[slot] === never) used++;
    tags[slot] = tagOf(hash);
    items[slot] = item;
  };
  const rebuild = (): void => {
    const all = items.filter(item => item !== undefined);
    let room = fewest;
    while (room < 2 * all.length) room *= 2;
    tags = new Uint8Array(room);
    items = emptySlots(room);
    used = 0;
    for (const item of all) enter(item, hashOf(item.id));
  };
  /** Vacates a slot. No search passes a `never` slot, so the vacated slots directly before one become `never` too. */
  const leave = (last: number): void => {
    tags[last] = gone;
    items[last] = undefined;
    if (tags[near(last, 1)] !== never) return;
    for (let slot = last; tags[slot] === gone; slot = near(slot, -1)) {
      tags[slot] = never;
      used--;
    }
  };

  return {
    get: id => items[slotOf(id, hashOf(id))],
    set(item) {
      const hash = hashOf(item.id);
      const slot = slotOf(item.id, hash);
      if (tags[slot] !== never) {
        const before = items[slot];
        items[slot] = item;
        return before;
      }
      enter(item, hash);
      if (4 * used > 3 * tags.length) rebuild();
      return undefined;
    },
    take(id) {
      const slot = slotOf(id, hashOf(id));
      if (tags[slot] === never) return undefined;
      const item = items[slot];
      leave(slot);
      return item;
    },
  };
}

const emptySlots = <T>(room: number): (T | undefined)[] => Array.from({ length: room }, () => undefined);

/** From hash bits that do not determine the slot. */
const tagOf = (hash: number): number => (hash >>> 24) | 2;

/** The orchestrator makes the ids, so clients cannot cause collisions. */
function hashOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) | 0;
  // Ids that were made together differ in few bits. Each of these must affect the low bits, which choose the slot.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
