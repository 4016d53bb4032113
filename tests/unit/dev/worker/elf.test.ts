/** A hand-made program with three segments, by the ELF specification. tests/full/rig.test.ts runs a real one. */
import { expect, test } from 'vitest';
import { withNote } from '../../../../dev/worker/elf.ts';

const page = 4_096;
const base = 0x40_0000;
const oldNote = noteOf('GNU', Buffer.from('who built it'));

function noteOf(name: string, content: Buffer): Buffer {
  const padded = (bytes: Buffer): Buffer =>
    Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(name.length + 1, 0);
  sizes.writeUInt32LE(content.length, 4);
  return Buffer.concat([sizes, padded(Buffer.from(`${name}\0`)), padded(content)]);
}

interface Header {
  readonly type: number;
  readonly offset: number;
  readonly filesz: number;
  readonly memsz: number;
}

const headersSize = 64 + 4 * 56;
const plain: readonly Header[] = [
  { type: 1, offset: 0, filesz: 1_000, memsz: 1_000 },
  { type: 4, offset: headersSize, filesz: oldNote.length, memsz: oldNote.length },
  { type: 1, offset: page, filesz: 500, memsz: 500 },
  { type: 1, offset: 2 * page + 16, filesz: 300, memsz: 5_000 },
];

/** Builds a program: code filled with `c`, data with `d`, and symbols with `s` after the loaded segments. */
function program(headers: readonly Header[] = plain): Buffer {
  const elf = Buffer.alloc(2 * page + 16 + 300 + 700);
  elf
    .fill('s', 2 * page + 316)
    .fill('c', page, page + 500)
    .fill('d', 2 * page + 16, 2 * page + 316);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]).copy(elf);
  elf.writeBigUInt64LE(64n, 32);
  elf.writeBigUInt64LE(BigInt(elf.length - 64), 40);
  elf.writeUInt16LE(headers.length, 56);
  elf.writeUInt16LE(1, 60);
  oldNote.copy(elf, headersSize);
  for (const [index, { type, offset, filesz, memsz }] of headers.entries()) {
    const at = 64 + index * 56;
    elf.writeUInt32LE(type, at);
    for (const [field, value] of [
      [8, offset],
      [16, base + offset],
      [24, base + offset],
      [32, filesz],
      [40, memsz],
      [48, 0x20_0000],
    ] as const)
      elf.writeBigUInt64LE(BigInt(value), at + field);
  }
  return elf;
}

/** Loads the program as a kernel does. Returns its memory and the address of its notes. */
function load(elf: Buffer) {
  const memory = new Map<number, number>();
  const notes: { readonly vaddr: number; readonly size: number }[] = [];
  for (let index = 0; index < elf.readUInt16LE(56); index += 1) {
    const at = 64 + index * 56;
    const field = (offset: number): number => Number(elf.readBigUInt64LE(at + offset));
    const [offset, vaddr, filesz, memsz, align] = [8, 16, 32, 40, 48].map(field) as [
      number,
      number,
      number,
      number,
      number,
    ];
    if (elf.readUInt32LE(at) === 4) notes.push({ vaddr, size: filesz });
    if (elf.readUInt32LE(at) !== 1) continue;
    expect([(vaddr - offset) % align, elf.length >= offset + filesz]).toEqual([0, true]);
    for (let byte = 0; byte < memsz; byte += 1)
      memory.set(vaddr + byte, byte < filesz ? (elf[offset + byte] ?? 0) : 0);
  }
  const read = (vaddr: number, size: number): Buffer =>
    Buffer.from(
      Array.from({ length: size }, (_, byte) => {
        const value = memory.get(vaddr + byte);
        if (value === undefined) throw new Error(`nothing is at ${(vaddr + byte).toString(16)}`);
        return value;
      }),
    );
  return { read, notes };
}

test('adds one note to a program and leaves what is loaded otherwise the same', () => {
  const content = Buffer.from('x'.repeat(4_321));
  const withAddedNote = withNote(program(), 'MADE', content);
  const before = load(program());
  const after = load(withAddedNote);
  for (const [vaddr, size] of [
    [base + page, 500],
    [base + 2 * page + 16, 5_000],
  ] as const)
    expect(after.read(vaddr, size)).toEqual(before.read(vaddr, size));
  const [note] = after.notes;
  if (note === undefined || after.notes.length !== 1) throw new Error('there is not one segment of notes');
  expect(after.read(note.vaddr, note.size)).toEqual(Buffer.concat([oldNote, noteOf('MADE', content)]));
});

test('drops the symbols and the section table', () => {
  const withAddedNote = withNote(program(), 'MADE', Buffer.from('x'));
  expect(withAddedNote.includes('sss')).toBe(false);
  expect([withAddedNote.readBigUInt64LE(40), withAddedNote.readUInt16LE(60)]).toEqual([0n, 0]);
});

test('removes the 2 MB alignment of the segments', () => {
  const withAddedNote = withNote(program(), 'MADE', Buffer.from('x'));
  for (const at of [64 + 2 * 56, 64 + 3 * 56])
    expect(
      (withAddedNote.readBigUInt64LE(at + 16) - withAddedNote.readBigUInt64LE(at + 8)) % 0x20_0000n,
    ).not.toBe(0n);
});

const [first, note, code, data] = plain as [Header, Header, Header, Header];
test.each([
  ['an empty file', Buffer.alloc(0)],
  ['a script', Buffer.from(`#!/bin/sh\n${'#'.repeat(200)}`)],
  ['a 32-bit program', Buffer.from(program()).fill(1, 4, 5)],
  ['a big-endian program', Buffer.from(program()).fill(2, 5, 6)],
  ['a program without notes', program([first, code, data])],
  ['a program with a single segment', program([first, note])],
  ['a program whose last segment is not last in memory', program([first, note, data, code])],
  ['a program whose headers are not loaded', program([code, note, data])],
])('rejects %s', (_title, bytes) => {
  expect(() => withNote(bytes, 'MADE', Buffer.from('x'))).toThrow(/ELF|segments/);
});
