import { crc32, deflateSync } from 'node:zlib';

/** Three bytes per pixel (red, green, blue), row by row from the top. */
export type Picture = { readonly width: number; readonly height: number; readonly pixels: Uint8Array };

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BITS_PER_CHANNEL = 8;
const TRUE_COLOUR = 2;

/** Encodes a PNG file (RFC 2083): true colour, unfiltered, not interlaced. */
export function encodePng({ width, height, pixels }: Picture): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([BITS_PER_CHANNEL, TRUE_COLOUR], 8);
  const rowBytes = 3 * width;
  // Each row starts with its filter number; 0 means no filter.
  const rows = Buffer.alloc(height * (1 + rowBytes));
  for (let row = 0; row < height; row++) {
    rows.set(pixels.subarray(row * rowBytes, (row + 1) * rowBytes), row * (1 + rowBytes) + 1);
  }
  const chunks = [
    chunkOf('IHDR', header),
    chunkOf('IDAT', deflateSync(rows)),
    chunkOf('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([SIGNATURE, ...chunks]);
}

/** Returns a chunk: length, name, data, and the checksum of name and data. */
function chunkOf(name: string, data: Buffer): Buffer {
  const nameAndData = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(nameAndData));
  return Buffer.concat([length, nameAndData, checksum]);
}
