/** Order of two versions (https://semver.org, section 11); null when either is invalid. */
export type VersionOrder = 'older' | 'same' | 'newer';

export function compareVersions(one: string, other: string): VersionOrder | null {
  const [left, right] = [parse(one), parse(other)];
  if (left === null || right === null) return null;
  for (const index of [0, 1, 2] as const) {
    const order = byNumber(left.figures[index], right.figures[index]);
    if (order !== 'same') return order;
  }
  return byPreRelease(left.pre, right.pre);
}

interface Version {
  readonly figures: readonly [major: bigint, minor: bigint, patch: bigint];
  /** Pre-release identifiers after the hyphen; empty for a release. */
  readonly pre: readonly string[];
}

const shape = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([\da-z-]+(?:\.[\da-z-]+)*))?(?:\+[\da-z.-]+)?$/i;

function parse(text: string): Version | null {
  // Valid versions are shorter; a worker may send anything.
  const found = text.length > 256 ? null : shape.exec(text);
  if (found === null) return null;
  const [, major, minor, patch, pre] = found;
  return { figures: [figure(major), figure(minor), figure(patch)], pre: pre?.split('.') ?? [] };
}

const figure = (digits: string | undefined): bigint => BigInt(String(digits));

function byPreRelease(left: readonly string[], right: readonly string[]): VersionOrder {
  if (left.length === 0 || right.length === 0) return byNumber(BigInt(right.length), BigInt(left.length));
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const [one, other] = [left[index], right[index]];
    if (one === undefined) return 'older';
    if (other === undefined) return 'newer';
    const order = byWord(one, other);
    if (order !== 'same') return order;
  }
  return 'same';
}

/** Numeric identifiers sort before alphanumeric ones. */
function byWord(one: string, other: string): VersionOrder {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (isNumber && isOtherNumber) return byNumber(BigInt(one), BigInt(other));
  if (isNumber !== isOtherNumber) return isNumber ? 'older' : 'newer';
  if (one === other) return 'same';
  return one < other ? 'older' : 'newer';
}

const byNumber = (one: bigint, other: bigint): VersionOrder => {
  if (one === other) return 'same';
  return one < other ? 'older' : 'newer';
};
