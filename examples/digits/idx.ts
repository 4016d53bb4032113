import { accepted, type Checked, refused } from './checked.ts';

/** An array of unsigned bytes in row-major order; `shape` is [60000, 28, 28] for images and [60000] for labels. */
export type IdxArray = { readonly shape: readonly number[]; readonly data: Uint8Array };

const UNSIGNED_BYTES = 0x08;

/**
 * Parses the idx format of the MNIST files (https://yann.lecun.org/exdb/mnist/, "file formats"): two zero bytes, the element
 * type, the number of dimensions, each dimension as a big-endian uint32, and the elements.
 */
export function parseIdx(bytes: Uint8Array, dimensions: number): Checked<IdxArray> {
  const headerBytes = 4 + 4 * dimensions;
  if (bytes.length < headerBytes) {
    return refused(`it ends after ${bytes.length} bytes, inside its header of ${headerBytes}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = view.getUint32(0);
  const expectedMagic = (UNSIGNED_BYTES << 8) | dimensions;
  if (magic !== expectedMagic) {
    return refused(`it starts with ${hex(magic)} instead of ${hex(expectedMagic)}`);
  }
  const shape = Array.from({ length: dimensions }, (_, axis) => view.getUint32(4 + 4 * axis));
  const elements = shape.reduce((product, size) => product * size, 1);
  const data = bytes.subarray(headerBytes);
  if (data.length !== elements) {
    return refused(`its header announces ${shape.join(' x ')} values, but ${data.length} follow`);
  }
  return accepted({ shape, data });
}

function hex(value: number): string {
  return `0x${value.toString(16).padStart(8, '0')}`;
}
