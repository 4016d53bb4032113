/**
 * Tests with an ELF program that this file builds according to the ELF specification. The program has a note segment and
 * three loaded segments. tests/full/rig.test.ts runs a real program.
 */
import { expect, test } from 'vitest';
import { withNote } from '../../../../dev/worker/elf.ts';

const page = 4_096;
const base = 0x40_0000;
const oldNote = noteOf('GNU', Buffer.from('build id'));

function noteOf(name: string, content: Buffer): Buffer {
  const padded = (bytes: Buffer): Buffer =>
    Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(name.length + 1, 0);
  sizes.writeUInt32LE(content.length, 4);
  return Buffer.concat([sizes, padded(Buffer.from(`${name}\0`)), padded(content)]);
}

/** The fields of a program header that the tests set. The specification defines their names. */
interface Header {
  readonly type: number;
  readonly offset: number;
  readonly filesz: number;
  readonly memsz: number;
}

/** Returns the offset of a program header. The ELF header has 64 bytes, and each program header has 56 bytes. */
const headerOffset = (index: number): number => 64 + index * 56;
const headersSize = headerOffset(4);
/** The positions of the 64-bit fields in a program header. */
const fields = { offset: 8, vaddr: 16, paddr: 24, filesz: 32, memsz: 40, align: 48 };
/** The machine numbers of the processors in an ELF header. */
const [x64, arm64] = [62, 183];
/** Linkers align segments to 2 MB. */
const alignment = 0x20_0000;
/** Type 1 is a loaded segment, and type 4 is a note segment. */
const programHeaders: readonly Header[] = [
  { type: 1, offset: 0, filesz: 1_000, memsz: 1_000 },
  { type: 4, offset: headersSize, filesz: oldNote.length, memsz: oldNote.length },
  { type: 1, offset: page, filesz: 500, memsz: 500 },
  { type: 1, offset: 2 * page + 16, filesz: 300, memsz: 5_000 },
];

/** Builds a program whose code is filled with `c`, its data with `d`, and its symbols, which are not loaded, with `s`. */
function program(headers: readonly Header[] = programHeaders, align = alignment): Buffer {
  const elf = Buffer.alloc(2 * page + 16 + 300 + 700);
  elf
    .fill('s', 2 * page + 316)
    .fill('c', page, page + 500)
    .fill('d', 2 * page + 16, 2 * page + 316);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]).copy(elf);
  elf.writeUInt16LE(x64, 18);
  elf.writeBigUInt64LE(64n, 32);
  elf.writeBigUInt64LE(BigInt(elf.length - 64), 40);
  elf.writeUInt16LE(headers.length, 56);
  elf.writeUInt16LE(1, 60);
  oldNote.copy(elf, headersSize);
  for (const [index, { type, offset, filesz, memsz }] of headers.entries()) {
    const start = headerOffset(index);
    elf.writeUInt32LE(type, start);
    for (const [field, value] of [
      [fields.offset, offset],
      [fields.vaddr, base + offset],
      [fields.paddr, base + offset],
      [fields.filesz, filesz],
      [fields.memsz, memsz],
      [fields.align, align],
    ] as const)
      elf.writeBigUInt64LE(BigInt(value), start + field);
  }
  return elf;
}

/** Loads the program like a kernel. Returns a reader of its memory, and the addresses of its note segments. */
function load(elf: Buffer) {
  const memory = new Map<number, number>();
  const notes: { readonly vaddr: number; readonly size: number }[] = [];
  for (let index = 0; index < elf.readUInt16LE(56); index += 1) {
    const start = headerOffset(index);
    const readField = (field: number): number => Number(elf.readBigUInt64LE(start + field));
    const type = elf.readUInt32LE(start);
    const offset = readField(fields.offset);
    const vaddr = readField(fields.vaddr);
    const filesz = readField(fields.filesz);
    const memsz = readField(fields.memsz);
    const align = readField(fields.align);
    if (type === 4) notes.push({ vaddr, size: filesz });
    if (type !== 1) continue;
    expect([(vaddr - offset) % align, elf.length >= offset + filesz]).toEqual([0, true]);
    for (let byte = 0; byte < memsz; byte += 1)
      memory.set(vaddr + byte, byte < filesz ? (elf[offset + byte] ?? 0) : 0);
  }
  const read = (vaddr: number, size: number): Buffer =>
    Buffer.from(
      Array.from({ length: size }, (_, byte) => {
        const value = memory.get(vaddr + byte);
        if (value === undefined) throw new Error(`nothing is loaded at ${(vaddr + byte).toString(16)}`);
        return value;
      }),
    );
  return { read, notes };
}

test('adds a note to a program without changes to the loaded code and data', () => {
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
  if (note === undefined || after.notes.length !== 1) throw new Error('expected exactly one note segment');
  expect(after.read(note.vaddr, note.size)).toEqual(Buffer.concat([oldNote, noteOf('MADE', content)]));
});

test('removes the symbols and the section table of a program', () => {
  const withAddedNote = withNote(program(), 'MADE', Buffer.from('x'));
  expect(withAddedNote.includes('sss')).toBe(false);
  expect([withAddedNote.readBigUInt64LE(40), withAddedNote.readUInt16LE(60)]).toEqual([0n, 0]);
});

test('removes the 2 MB alignment of the segments', () => {
  const withAddedNote = withNote(program(), 'MADE', Buffer.from('x'));
  for (const start of [headerOffset(2), headerOffset(3)]) {
    const vaddr = withAddedNote.readBigUInt64LE(start + fields.vaddr);
    const offset = withAddedNote.readBigUInt64LE(start + fields.offset);
    expect((vaddr - offset) % BigInt(alignment)).not.toBe(0n);
  }
});

test('keeps the file offsets of a program for arm64, whose segments may share a page of 64 KB', () => {
  const elf = program(programHeaders, 65_536);
  elf.writeUInt16LE(arm64, 18);
  const withAddedNote = withNote(elf, 'MADE', Buffer.from('x'));
  for (const start of [headerOffset(2), headerOffset(3)])
    expect(withAddedNote.readBigUInt64LE(start + fields.offset)).toBe(
      elf.readBigUInt64LE(start + fields.offset),
    );
  const [before, after] = [load(elf), load(withAddedNote)];
  expect(after.read(base + page, 500)).toEqual(before.read(base + page, 500));
  const [note] = after.notes;
  expect(after.read(note?.vaddr ?? 0, note?.size ?? 0)).toEqual(
    Buffer.concat([oldNote, noteOf('MADE', Buffer.from('x'))]),
  );
});

const [first, note, code, data] = programHeaders as [Header, Header, Header, Header];
test.each([
  ['an empty file', Buffer.alloc(0)],
  ['a script', Buffer.from(`#!/bin/sh\n${'#'.repeat(200)}`)],
  ['a 32-bit program', Buffer.from(program()).fill(1, 4, 5)],
  ['a big-endian program', Buffer.from(program()).fill(2, 5, 6)],
  ['a program for another processor', Buffer.from(program()).fill(40, 18, 19)],
  ['a program without notes', program([first, code, data])],
  ['a program with a single segment', program([first, note])],
  ['a program whose last header is not the last segment in memory', program([first, note, data, code])],
  ['a program whose headers are not loaded', program([code, note, data])],
])('throws for %s instead of adding a note', (_title, bytes) => {
  expect(() => withNote(bytes, 'MADE', Buffer.from('x'))).toThrow(/ELF|segments/);
});
