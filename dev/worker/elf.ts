/** Field offsets of a 64-bit little-endian ELF file (System V gABI, chapters 4 and 5; gABI "Note Section"). */
const file = { phoff: 32, shoff: 40, phnum: 56, shnum: 60, shstrndx: 62 } as const;
const header = { size: 56, offset: 8, vaddr: 16, paddr: 24, filesz: 32, memsz: 40, align: 48 } as const;
const types = { load: 1, note: 4 } as const;
/** Maximum size of a memory page in bytes, by ELF machine: 62 is x64, 183 is arm64. Servers with arm64 may use 64 KB. */
const pageSizes: Readonly<Record<number, number>> = { 62: 4_096, 183: 65_536 };
/** Offset of the ELF machine in the file. */
const machine = 18;
/** The first four bytes of an ELF file, and the values of the two bytes after them. */
const elfMagic = 0x7f_45_4c_46;
const class64 = 2;
const littleEndian = 1;

interface Segment {
  /** Offset of the segment's program header in the file. */
  readonly headerOffset: number;
  readonly type: number;
  readonly offset: number;
  readonly vaddr: number;
  readonly filesz: number;
  readonly memsz: number;
  readonly align: number;
}

/**
 * Returns a copy of the program with an additional note that is loaded into memory. Removes the parts that are not loaded, such
 * as symbols. To avoid a new program header, extends the last segment: its zero-initialised memory becomes part of the file,
 * followed by the note. Throws when the file does not have the expected layout.
 */
export function withNote(elf: Buffer, name: string, content: Buffer): Buffer {
  const segments = segmentsOf(elf);
  const pageBytes = pageSizes[elf.readUInt16LE(machine)];
  if (pageBytes === undefined) throw new Error('not an ELF file for x64 or arm64');
  const { first, last, note } = findLayout(segments, pageBytes);
  const bytes = Buffer.concat([
    elf.subarray(note.offset, note.offset + note.filesz),
    encodeNote(name, content),
  ]);
  /** Offset of the note in the last segment. */
  const noteStart = roundUp(last.vaddr + last.memsz, pageBytes) - last.vaddr;
  const firstEnd = first.offset + first.filesz;
  /**
   * In a file for x64, offsets and addresses are equal modulo 2 MB. So Linux may map the code in units of 2 MB, including unused
   * parts. A shift by one page prevents that, and saves 20 MB of resident memory. Files for arm64 are aligned to pages already.
   */
  const shift = first.align > pageBytes ? pageBytes : 0;
  const secondPart = shift === 0 ? firstEnd : roundUp(firstEnd, pageBytes);
  const newOffset = (offset: number): number => (offset >= secondPart ? offset + shift : offset);
  const result = Buffer.alloc(newOffset(last.offset) + noteStart + bytes.length);
  elf.copy(result, 0, 0, firstEnd);
  elf.copy(result, newOffset(secondPart), secondPart, last.offset + last.filesz);
  bytes.copy(result, newOffset(last.offset) + noteStart);
  const write = (segment: Segment, field: keyof typeof header, value: number): void => {
    result.writeBigUInt64LE(BigInt(value), segment.headerOffset + header[field]);
  };
  for (const segment of segments) {
    write(segment, 'offset', newOffset(segment.offset));
    if (segment.type === types.load) write(segment, 'align', pageBytes);
  }
  write(last, 'filesz', noteStart + bytes.length);
  write(last, 'memsz', noteStart + bytes.length);
  write(note, 'offset', newOffset(last.offset) + noteStart);
  write(note, 'vaddr', last.vaddr + noteStart);
  write(note, 'paddr', last.vaddr + noteStart);
  write(note, 'filesz', bytes.length);
  write(note, 'memsz', bytes.length);
  // Clear the references to the section headers, which were after the last segment and are removed.
  result.writeBigUInt64LE(0n, file.shoff);
  result.writeUInt16LE(0, file.shnum);
  result.writeUInt16LE(0, file.shstrndx);
  return result;
}

function segmentsOf(elf: Buffer): readonly Segment[] {
  const isElf =
    elf.length > 64 && elf.readUInt32BE(0) === elfMagic && elf[4] === class64 && elf[5] === littleEndian;
  if (!isElf) throw new Error('not a 64-bit ELF file');
  const readNumber = (offset: number): number => Number(elf.readBigUInt64LE(offset));
  const table = readNumber(file.phoff);
  return Array.from({ length: elf.readUInt16LE(file.phnum) }, (_, index) => {
    const headerOffset = table + index * header.size;
    return {
      headerOffset,
      type: elf.readUInt32LE(headerOffset),
      offset: readNumber(headerOffset + header.offset),
      vaddr: readNumber(headerOffset + header.vaddr),
      filesz: readNumber(headerOffset + header.filesz),
      memsz: readNumber(headerOffset + header.memsz),
      align: readNumber(headerOffset + header.align),
    };
  });
}

/**
 * Finds the segments to change. Throws unless the first segment starts the file, and the last segment is the last in the file and
 * in memory.
 */
function findLayout(segments: readonly Segment[], pageBytes: number) {
  const loads = segments.filter(({ type }) => type === types.load);
  const [first, last] = [loads[0], loads.at(-1)];
  const note = segments.find(({ type }) => type === types.note);
  if (first === undefined || last === undefined || first === last || note === undefined)
    throw new Error('too few segments to add a note');
  const isInOrder = loads.every(
    ({ offset, vaddr }) => offset <= last.offset && vaddr <= last.vaddr && (vaddr - offset) % pageBytes === 0,
  );
  if (first.offset !== 0 || !isInOrder) throw new Error('the segments are not in the expected order');
  return { first, last, note };
}

function encodeNote(name: string, content: Buffer): Buffer {
  const nameBytes = Buffer.from(`${name}\0`);
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(nameBytes.length, 0);
  sizes.writeUInt32LE(content.length, 4);
  return Buffer.concat([sizes, padded(nameBytes), padded(content)]);
}

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc(roundUp(bytes.length, 4) - bytes.length)]);

/** Rounds up to a multiple of the unit. */
const roundUp = (value: number, unit: number): number => Math.ceil(value / unit) * unit;
