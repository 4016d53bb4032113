/** Version of this program, the same for agent and orchestrator. A test compares it with package.json. */
export const version = '0.1.0';

type VersionOrder = 'older' | 'same' | 'newer';

/** Compares two versions (https://semver.org, section 11). Returns null when either is invalid. */
export function compareVersions(a: string, b: string): VersionOrder | null {
  const [left, right] = [parse(a), parse(b)];
  if (left === null || right === null) return null;
  for (const index of [0, 1, 2] as const) {
    const order = compareNumbers(left.numbers[index], right.numbers[index]);
    if (order !== 'same') return order;
  }
  return comparePreReleases(left.pre, right.pre);
}

interface Version {
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  /** Pre-release identifiers after the hyphen; empty for a release. */
  readonly pre: readonly string[];
}

const versionPattern =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([\da-z-]+(?:\.[\da-z-]+)*))?(?:\+[\da-z.-]+)?$/i;

function parse(text: string): Version | null {
  // Limit the length, because the text may come from an untrusted worker.
  const match = text.length > 256 ? null : versionPattern.exec(text);
  if (match === null) return null;
  const [, major, minor, patch, pre] = match;
  return { numbers: [toNumber(major), toNumber(minor), toNumber(patch)], pre: pre?.split('.') ?? [] };
}

const toNumber = (digits: string | undefined): bigint => BigInt(String(digits));

function comparePreReleases(left: readonly string[], right: readonly string[]): VersionOrder {
  if (left.length === 0 || right.length === 0)
    return compareNumbers(BigInt(right.length), BigInt(left.length));
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const [one, other] = [left[index], right[index]];
    if (one === undefined) return 'older';
    if (other === undefined) return 'newer';
    const order = compareIdentifiers(one, other);
    if (order !== 'same') return order;
  }
  return 'same';
}

/** Compares two identifiers of a pre-release. Numeric identifiers sort before alphanumeric ones. */
function compareIdentifiers(a: string, b: string): VersionOrder {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber && isOtherNumber) return compareNumbers(BigInt(a), BigInt(b));
  if (isNumber !== isOtherNumber) return isNumber ? 'older' : 'newer';
  if (a === b) return 'same';
  return a < b ? 'older' : 'newer';
}

const compareNumbers = (a: bigint, b: bigint): VersionOrder => {
  if (a === b) return 'same';
  return a < b ? 'older' : 'newer';
};
