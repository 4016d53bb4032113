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

/** What a slot says that never had anything, and one that had. All else is part of a hash. */
const never = 0;
const gone = 1;

/**
 * A `Map` does the same. But where ids come and go by the hundred thousand, it has to look at some that are in no cache to tell that another
 * one is new, and what it leaves behind while it is rebuilt over and over is kept by the garbage collector. Here one byte of each slot, all of
 * them close together, nearly always tells.
 */
export function createRoster<T extends Listed>(): Roster<T> {
  let tags = new Uint8Array(fewest);
  /** Where among the items a slot's is. The first item is nothing: what slots without one point at. */
  let places = new Int32Array(fewest);
  let items: (T | undefined)[] = [undefined];
  let vacant: number[] = [];
  /** How many slots are not as they were at the beginning: a search goes on until it finds one that is. */
  let used = 0;

  const after = (slot: number): number => (slot + 1) & (tags.length - 1);
  const placeIn = (slot: number): number => Number(places[slot]);

  /** Where it is, or else the end of the search. */
  const slotOf = (id: string, hash: number): number => {
    const tag = tagOf(hash);
    let slot = hash & (tags.length - 1);
    while (tags[slot] !== never && (tags[slot] !== tag || items[placeIn(slot)]?.id !== id))
      slot = after(slot);
    return slot;
  };
  const enter = (hash: number, place: number): void => {
    let slot = hash & (tags.length - 1);
    while (placeIn(slot) > 0) slot = after(slot);
    if (tags[slot] === never) used++;
    tags[slot] = tagOf(hash);
    places[slot] = place;
  };
  const rebuild = (): void => {
    items = [undefined, ...items.filter(item => item !== undefined)];
    vacant = [];
    let room = fewest;
    while (room < 4 * items.length) room *= 2;
    tags = new Uint8Array(room);
    places = new Int32Array(room);
    used = 0;
    for (const [place, item] of items.entries()) if (item !== undefined) enter(hashOf(item.id), place);
  };

  return {
    get: id => items[placeIn(slotOf(id, hashOf(id)))],
    set(item) {
      const hash = hashOf(item.id);
      const known = placeIn(slotOf(item.id, hash));
      const before = items[known];
      const place = known > 0 ? known : (vacant.pop() ?? items.length);
      items[place] = item;
      if (known > 0) return before;
      enter(hash, place);
      if (4 * used > 3 * tags.length) rebuild();
      return undefined;
    },
    take(id) {
      const slot = slotOf(id, hashOf(id));
      const place = placeIn(slot);
      if (place === 0) return undefined;
      const item = items[place];
      items[place] = undefined;
      vacant.push(place);
      places[slot] = 0;
      const isEnd = tags[after(slot)] === never;
      tags[slot] = isEnd ? never : gone;
      if (isEnd) used--;
      return item;
    },
  };
}

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
