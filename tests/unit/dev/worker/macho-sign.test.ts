/** Tests with a Mach-O program that this file builds according to mach-o/loader.h. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { signAdHoc } from '../../../../dev/worker/macho-sign.ts';

const page = 4_096;
const linkEditStart = 4 * page;
const end = linkEditStart + 1_001;

interface Layout {
  readonly firstSection?: number;
  readonly names?: readonly string[];
}

/** Builds a program with the segments __TEXT, which has one section, and __LINKEDIT. */
function program({ firstSection = page, names = ['__TEXT', '__LINKEDIT'] }: Layout = {}): Buffer {
  const file = Buffer.alloc(end, 'c');
  file.fill(0, 0, page);
  // The header has a magic number, the number of load commands and their size in bytes.
  file.writeUInt32LE(0xfe_ed_fa_cf, 0);
  const sizes = [152, 72];
  file.writeUInt32LE(2, 16);
  file.writeUInt32LE(224, 20);
  let at = 32;
  for (const [index, size] of sizes.entries()) {
    const [offset, bytes] = [
      [0, linkEditStart],
      [linkEditStart, end - linkEditStart],
    ][index] as [number, number];
    // A segment command has a type, a size, a name, an offset and a size in the file, and a number of sections.
    file.writeUInt32LE(0x19, at);
    file.writeUInt32LE(size, at + 4);
    file.write(names[index] ?? '', at + 8);
    file.writeBigUInt64LE(BigInt(offset), at + 40);
    file.writeBigUInt64LE(BigInt(bytes), at + 48);
    file.writeUInt32LE(index === 0 ? 1 : 0, at + 64);
    if (index === 0) file.writeUInt32LE(firstSection, at + 72 + 48);
    at += size;
  }
  return file;
}

test('appends a signature with the hash of each page, and a load command with its offset and size', () => {
  const signed = signAdHoc(program(), 'name');
  // The command for the signature (type 0x1d) follows the header of 32 bytes and the segment commands of 224 bytes.
  const command = 32 + 224;
  const [type, size, start, length] = [0, 4, 8, 12].map(offset => signed.readUInt32LE(command + offset));
  expect([type, size, signed.readUInt32LE(16), signed.readUInt32LE(20)]).toEqual([0x1d, 16, 3, 240]);
  const signature = signed.subarray(start);
  expect([start, signature.length]).toEqual([Math.ceil(end / 16) * 16, length]);
  // __LINKEDIT contains the signature and ends with the file. Its size in memory is a multiple of 16 KB.
  const linkEdit = 32 + 152;
  expect(signed.readBigUInt64LE(linkEdit + 48)).toBe(BigInt(signed.length - linkEditStart));
  expect(signed.readBigUInt64LE(linkEdit + 32)).toBe(0x4000n);
  // The signature starts with a magic number, and contains a code directory with the hashes of the pages.
  expect(signature.readUInt32BE(0)).toBe(0xfa_de_0c_c0);
  const directory = signature.subarray(signature.readUInt32BE(16));
  expect([directory.readUInt32BE(0), directory.readUInt32BE(12)]).toEqual([0xfa_de_0c_02, 0x2_00_02]);
  expect(directory.toString('latin1', directory.readUInt32BE(20)).startsWith('name\0')).toBe(true);
  const hashes = directory.readUInt32BE(16);
  const limit = directory.readUInt32BE(32);
  expect([limit, directory.readUInt32BE(28)]).toEqual([start, Math.ceil(limit / page)]);
  // A hash has 32 bytes and the type 2, which is SHA-256. A page has 2 ** 12 bytes.
  expect([directory[36], directory[37], directory[39]]).toEqual([32, 2, 12]);
  for (let index = 0; index * page < limit; index += 1) {
    const bytes = signed.subarray(index * page, Math.min((index + 1) * page, limit));
    const hash = createHash('sha256').update(bytes).digest();
    expect(directory.subarray(hashes + 32 * index, hashes + 32 * (index + 1))).toEqual(hash);
  }
});

test.each([
  ['a text', Buffer.alloc(200, 'x'), /not a 64-bit Mach-O/],
  ['a program without room for a load command', program({ firstSection: 260 }), /no room/],
  ['a program without symbols', program({ names: ['__TEXT', '__DATA'] }), /no segment __LINKEDIT/],
  ['a program that has a signature', signAdHoc(program(), 'name'), /already signed/],
])('throws for %s instead of signing', (_title, file, message) => {
  expect(() => signAdHoc(file, 'name')).toThrow(message);
});
