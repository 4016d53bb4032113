/** What is on a roster: once, by its id. */
export interface Listed {
  readonly id: string;
}

/** Things by their id. */
export interface Roster<T extends Listed> {
  get(id: string): T | undefined;
  /** In place of the one that has had this id, which is the answer. */
  set(item: T): T | undefined;
  /** Takes the one with this id off the list, and answers with it. */
  take(id: string): T | undefined;
}

/** So many slots there are at least. */
const fewest = 64;

/** The tag of a slot that never had anything, and of one that had. All others are part of a hash. */
const never = 0;
const gone = 1;

/**
 * A `Map` does the same. But where ids come and go by the hundred thousand, it has to look at some that are in no cache to tell that another
 * one is new, and what it leaves behind while it is rebuilt over and over is kept by the garbage collector. Here one byte of each slot, all of
 * them close together, nearly always tells.
 */
export function createRoster<T extends Listed>(): Roster<T> {
  let tags = new Uint8Array(fewest);
  let items = emptySlots<T>(fewest);
  /** How many slots are not as they were at the beginning: a search goes on until it finds one that is. */
  let used = 0;

  const near = (slot: number, by: 1 | -1): number => (slot + by) & (tags.length - 1);

  /** Where it is, or else the end of the search. */
  const slotOf = (id: string, hash: number): number => {
    const tag = tagOf(hash);
    let slot = hash & (tags.length - 1);
    while (tags[slot] !== never && (tags[slot] !== tag || items[slot]?.id !== id)) slot = near(slot, 1);
    return slot;
  };
  /** What is on no roster yet goes where the first has gone on its way. */
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
  /** No search goes beyond a slot that is as it was, nor then beyond those before it that had something. */
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

/** Of bits that do not say where its slot is. */
const tagOf = (hash: number): number => (hash >>> 24) | 2;

/** Ids are the orchestrator's own: nobody outside can make many of them alike. */
function hashOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) | 0;
  // Ids that were made together differ in few bits, all of which the first bits of a slot's number have to follow.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
