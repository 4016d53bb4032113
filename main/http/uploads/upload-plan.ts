import type { IncomingHttpHeaders } from 'node:http';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';

export type Digests = Readonly<Partial<Record<'sha256' | 'md5' | 'crc32', string>>>;

/** Facts about the body from the request headers. Digests are in lower-case hex. */
export interface UploadPlan {
  /** Length of the body in bytes. */
  readonly length: number;
  /** Position of the body in the file, in bytes; null when the body is the whole file. */
  readonly part: { readonly first: number; readonly total: number } | null;
  /** Announced digests of the body. */
  readonly ofBody: Digests;
  /** Announced digests of the whole file. */
  readonly ofFile: Digests;
}

/** Encoding of a digest in a header. */
type DigestEncoding = 'hex' | 'base64' | 'any';

const byteCount = { sha256: 32, md5: 16, crc32: 4 } as const;
type Algorithm = keyof typeof byteCount;
const algorithms = ['sha256', 'md5', 'crc32'] as const satisfies readonly Algorithm[];

/** Headers of Trainyard, of S3 clients, and of RFC 9530. `of` tells whether the digest covers the body or the file. */
const checksums: readonly (readonly [
  header: string,
  algorithm: Algorithm,
  encoding: DigestEncoding,
  of: 'body' | 'file',
])[] = [
  ['x-checksum-sha256', 'sha256', 'any', 'file'],
  ['x-amz-checksum-sha256', 'sha256', 'base64', 'body'],
  ['x-amz-checksum-crc32', 'crc32', 'base64', 'body'],
  ['content-md5', 'md5', 'base64', 'body'],
];

const bad = (what: string) => refuse('invalid_request', what);

/** Reads the plan of an upload from its headers. Refuses encoded bodies, bodies of unknown length, and invalid headers. */
export function planUpload(headers: IncomingHttpHeaders): Outcome<UploadPlan> {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    return refuse(
      'media_type',
      'Send the bytes as they are, without Content-Encoding; with boto3, set request_checksum_calculation="when_required"',
    );
  const length = lengthOf(headers);
  if (length === null)
    return refuse(
      'length_required',
      'Send the size of the body in Content-Length, because the server reserves disk space before it reads the body',
    );
  const part = partOf(headers['content-range'], length);
  if (!part.ok) return part;
  const digests = digestsOf(headers);
  if (!digests.ok) return digests;
  const { ofBody, ofFile } = digests.value;
  return accept({ length, part: part.value, ofBody, ofFile });
}

/** Returns the length of the body; null when it is unknown. Without both headers, the body is empty. */
function lengthOf({
  'content-length': length,
  'transfer-encoding': coding,
}: IncomingHttpHeaders): number | null {
  if (coding !== undefined) return null;
  const bytes = Number(length ?? 0);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** Parses `bytes 0-1048575/52428800` (RFC 9110, section 14.4). Returns null when the body is the whole file. */
function partOf(text: string | undefined, length: number): Outcome<UploadPlan['part']> {
  if (text === undefined) return accept(null);
  const [, from = '', to = '', of = ''] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(text) ?? [];
  const [first, last, total] = [Number(from), Number(to), Number(of)];
  if (of === '' || last < first || last >= total)
    return bad('Content-Range: expected bytes FIRST-LAST/TOTAL, counted from 0');
  if (last - first + 1 !== length)
    return bad(`Content-Range names ${last - first + 1} bytes, but Content-Length is ${length}`);
  return accept({ first, total });
}

type Mutable = Partial<Record<Algorithm, string>>;

function digestsOf(headers: IncomingHttpHeaders): Outcome<Pick<UploadPlan, 'ofBody' | 'ofFile'>> {
  const digests: { readonly body: Mutable; readonly file: Mutable } = { body: {}, file: {} };
  for (const [header, algorithm, encoding, of] of checksums) {
    const text = headers[header];
    if (text === undefined) continue;
    const digest = digestOf(String(text), algorithm, encoding);
    if (digest === null)
      return bad(`${header}: expected ${wording[encoding]} of ${byteCount[algorithm]} bytes`);
    digests[of][algorithm] = digest;
  }
  for (const [header, of] of [
    ['content-digest', 'body'],
    ['repr-digest', 'file'],
  ] as const) {
    const text = headers[header];
    if (text === undefined) continue;
    const [, base64 = ''] = /(?:^|[,\s])sha-256=:([^:]*):/.exec(String(text)) ?? [];
    const digest = digestOf(base64, 'sha256', 'base64');
    if (digest === null) return bad(`${header}: expected sha-256=:BASE64:`);
    digests[of].sha256 = digest;
  }
  // S3 clients may also send other values in this header, such as UNSIGNED-PAYLOAD, which are ignored.
  const signed = digestOf(String(headers['x-amz-content-sha256'] ?? ''), 'sha256', 'hex');
  if (signed !== null) digests.body.sha256 = signed;
  return accept({ ofBody: digests.body, ofFile: digests.file });
}

const wording: Readonly<Record<DigestEncoding, string>> = {
  hex: 'the hexadecimal digits',
  base64: 'the base64',
  any: 'the hexadecimal digits, or the base64,',
};

/** Returns the digest in lower-case hex; null when the text does not have this encoding. */
function digestOf(text: string, algorithm: Algorithm, encoding: DigestEncoding): string | null {
  const bytes = byteCount[algorithm];
  const isHex = text.length === bytes * 2 && /^[0-9a-f]*$/i.test(text);
  if (encoding !== 'base64' && isHex) return text.toLowerCase();
  if (encoding === 'hex') return null;
  const decoded = Buffer.from(text, 'base64');
  return decoded.length === bytes && decoded.toString('base64') === text ? decoded.toString('hex') : null;
}

/** Returns the first algorithm whose two digests differ; null when there is none. Algorithms without both digests are ignored. */
export function findMismatch(declared: Digests, computed: Digests): string | null {
  const isWrong = (algorithm: Algorithm): boolean =>
    declared[algorithm] !== undefined &&
    computed[algorithm] !== undefined &&
    declared[algorithm] !== computed[algorithm];
  return algorithms.find(isWrong) ?? null;
}
