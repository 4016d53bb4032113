import { createHash } from 'node:crypto';

/** Field offsets of a 64-bit Mach-O file (mach-o/loader.h). */
const header = { size: 32, ncmds: 16, sizeofcmds: 20 } as const;
const segment = { name: 8, vmsize: 32, fileoff: 40, filesize: 48, nsects: 64, size: 72 } as const;
const section = { size: 80, offset: 48 } as const;
const commands = { segment64: 0x19, codeSignature: 0x1d } as const;
const magic64 = 0xfe_ed_fa_cf;
const signatureCommandSize = 16;
/** Apple silicon maps memory in pages of 16 KB. The kernel accepts hashes of 4 KB blocks, which all linkers use. */
const mapPage = 0x40_00;
const hashPage = 0x10_00;

/** Constants of code signatures (xnu: osfmk/kern/cs_blobs.h). Numbers in signatures are big-endian. */
const blobMagic = { signature: 0xfa_de_0c_c0, codeDirectory: 0xfa_de_0c_02 } as const;
const codeDirectoryVersion = 0x2_04_00;
const flags = { adHoc: 0x2, linkerSigned: 0x2_00_00 } as const;
const sha256 = { type: 2, size: 32 } as const;
const mainBinary = 1n;
const superBlobSize = 20;
const codeDirectorySize = 88;

interface Command {
  readonly offset: number;
  readonly type: number;
  readonly size: number;
}

/**
 * Returns the program with an ad-hoc signature: hashes of its pages, without a certificate. On Apple silicon, macOS starts only
 * signed programs. The signature does not identify the author. Throws when the file does not have the expected layout.
 */
export function signAdHoc(unsigned: Buffer, identifier: string): Buffer {
  const all = commandsOf(unsigned);
  const text = findSegment(unsigned, all, '__TEXT');
  const linkEdit = findSegment(unsigned, all, '__LINKEDIT');
  if (all.some(({ type }) => type === commands.codeSignature))
    throw new Error('the program is already signed');
  const commandsEnd = header.size + unsigned.readUInt32LE(header.sizeofcmds);
  if (commandsEnd + signatureCommandSize > firstSectionOffset(unsigned, all))
    throw new Error('the program has no room for another load command');
  const linkEditStart = readNumber(unsigned, linkEdit.offset + segment.fileoff);
  /** The end of the code, where the signature begins. */
  const limit = roundUp(linkEditStart + readNumber(unsigned, linkEdit.offset + segment.filesize), 16);
  const size = signatureSize(limit, identifier);
  const signed = Buffer.alloc(limit + size);
  unsigned.copy(signed, 0, 0, Math.min(unsigned.length, limit));
  signed.writeUInt32LE(all.length + 1, header.ncmds);
  signed.writeUInt32LE(unsigned.readUInt32LE(header.sizeofcmds) + signatureCommandSize, header.sizeofcmds);
  for (const [index, value] of [commands.codeSignature, signatureCommandSize, limit, size].entries())
    signed.writeUInt32LE(value, commandsEnd + 4 * index);
  const linkEditSize = limit + size - linkEditStart;
  signed.writeBigUInt64LE(BigInt(linkEditSize), linkEdit.offset + segment.filesize);
  signed.writeBigUInt64LE(BigInt(roundUp(linkEditSize, mapPage)), linkEdit.offset + segment.vmsize);
  const textSegment = {
    start: signed.readBigUInt64LE(text.offset + segment.fileoff),
    size: signed.readBigUInt64LE(text.offset + segment.filesize),
  };
  signatureOf(signed.subarray(0, limit), identifier, textSegment).copy(signed, limit);
  return signed;
}

const pagesOf = (limit: number): number => Math.ceil(limit / hashPage);

const signatureSize = (limit: number, identifier: string): number =>
  superBlobSize + codeDirectorySize + identifier.length + 1 + pagesOf(limit) * sha256.size;

interface TextSegment {
  readonly start: bigint;
  readonly size: bigint;
}

function signatureOf(code: Buffer, identifier: string, text: TextSegment): Buffer {
  const size = signatureSize(code.length, identifier);
  const hashOffset = codeDirectorySize + identifier.length + 1;
  const numbers = [
    [blobMagic.signature, size, 1, 0, superBlobSize],
    [blobMagic.codeDirectory, size - superBlobSize, codeDirectoryVersion, flags.adHoc | flags.linkerSigned],
    [hashOffset, codeDirectorySize, 0, pagesOf(code.length), code.length],
    // The last byte is the binary logarithm of the page size.
    [(sha256.size << 24) | (sha256.type << 16) | Math.log2(hashPage)],
    // No scattered pages, no team, and no limit above 4 GB.
    [0, 0, 0, 0, 0, 0],
  ].flat();
  const signature = Buffer.alloc(size);
  for (const [index, number] of numbers.entries()) signature.writeUInt32BE(number, 4 * index);
  const textFields = superBlobSize + codeDirectorySize - 24;
  for (const [index, number] of [text.start, text.size, mainBinary].entries())
    signature.writeBigUInt64BE(number, textFields + 8 * index);
  signature.write(identifier, superBlobSize + codeDirectorySize);
  for (let page = 0; page < pagesOf(code.length); page += 1) {
    const bytes = code.subarray(page * hashPage, (page + 1) * hashPage);
    const digest = createHash('sha256').update(bytes).digest();
    digest.copy(signature, superBlobSize + hashOffset + page * sha256.size);
  }
  return signature;
}

function commandsOf(file: Buffer): readonly Command[] {
  if (file.length < header.size || file.readUInt32LE(0) !== magic64)
    throw new Error('not a 64-bit Mach-O file');
  const result: Command[] = [];
  let offset: number = header.size;
  for (let remaining = file.readUInt32LE(header.ncmds); remaining > 0; remaining -= 1) {
    const size = file.readUInt32LE(offset + 4);
    if (size < 8) throw new Error('a load command has no size');
    result.push({ offset, type: file.readUInt32LE(offset), size });
    offset += size;
  }
  return result;
}

const nameOf = (file: Buffer, { offset }: Command): string =>
  file.toString('latin1', offset + segment.name, offset + segment.name + 16).replace(/\0.*$/, '');

function findSegment(file: Buffer, all: readonly Command[], name: string): Command {
  const found = all.find(each => each.type === commands.segment64 && nameOf(file, each) === name);
  if (found === undefined) throw new Error(`the program has no segment ${name}`);
  return found;
}

/** Returns the offset of the first section in the file. The load commands must end before it. */
function firstSectionOffset(file: Buffer, all: readonly Command[]): number {
  const offsets = all
    .filter(({ type }) => type === commands.segment64)
    .flatMap(({ offset }) =>
      Array.from({ length: file.readUInt32LE(offset + segment.nsects) }, (_, index) =>
        file.readUInt32LE(offset + segment.size + index * section.size + section.offset),
      ),
    )
    // Sections without content, such as zeroed memory, have the offset 0.
    .filter(offset => offset > 0);
  return Math.min(...offsets);
}

const readNumber = (file: Buffer, offset: number): number => Number(file.readBigUInt64LE(offset));

const roundUp = (value: number, unit: number): number => Math.ceil(value / unit) * unit;
