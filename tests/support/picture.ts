import { crc32, deflateSync } from 'node:zlib';

type Colour = readonly [red: number, green: number, blue: number];

/** A PNG, as small as it can be: 8 bits a colour, none of it see-through. */
export function pngOf(
  width: number,
  height: number,
  colourAt: (x: number, y: number) => Colour,
): Uint8Array<ArrayBuffer> {
  const rows = places(height).map(y =>
    // Each row begins with its filter: none.
    Buffer.from([0, ...places(width).flatMap(x => colourAt(x, y))]),
  );
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const parts = [chunk('IHDR', head), chunk('IDAT', deflateSync(Buffer.concat(rows))), chunk('IEND')];
  return new Uint8Array(Buffer.concat([Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'), ...parts]));
}

const places = (count: number): readonly number[] => [...Array(count).keys()];

function chunk(type: string, data: Uint8Array = new Uint8Array()): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
