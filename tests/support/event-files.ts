/**
 * Writes TensorBoard event files. The field numbers are those of TensorFlow's event.proto, summary.proto and
 * tensor.proto.
 */

import { PbfWriter } from 'pbf';
import { maskedCrc32c } from '../../agent/metrics/metrics-files/record-file.ts';

/** A file name in the format of TensorBoard's writers. */
export const eventsName = 'events.out.tfevents.1795405017.rig.1.0';

/** Encodes a record of a TFRecord file: the length, its checksum, the data, and their checksum. */
export function frame(data: Uint8Array): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  const checksums = [length, data].map(bytes => {
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(maskedCrc32c(bytes));
    return sum;
  });
  return Buffer.concat([length, checksums[0]!, data, checksums[1]!]);
}

interface Value {
  readonly tag: string;
  readonly write: (value: PbfWriter) => void;
}

/** Encodes an event with a summary. The wall time of the event is 1,000 s plus the step. */
export function eventOf(step: number, values: readonly Value[]): Buffer {
  const pbf = new PbfWriter();
  pbf.writeDoubleField(1, 1_000 + step);
  pbf.writeVarintField(2, step);
  const writeValue = ({ tag, write }: Value, value: PbfWriter): void => {
    value.writeStringField(1, tag);
    write(value);
  };
  pbf.writeMessage(
    5,
    (_, summary) => values.forEach(value => summary.writeMessage(1, writeValue, value)),
    null,
  );
  return frame(pbf.finish());
}

/** Encodes an event with one value. `write` encodes the value after its tag. */
export const eventWith = (step: number, tag: string, write: (value: PbfWriter) => void): Buffer =>
  eventOf(step, [{ tag, write }]);

export const scalar = (step: number, tag: string, value: number): Buffer =>
  eventWith(step, tag, writer => writer.writeFloatField(2, value));

/** Encodes a `Summary.Image` like PyTorch's `add_image`. */
export const imageValue = (tag: string, encoded: Uint8Array): Value => ({
  tag,
  write: value =>
    value.writeMessage(
      4,
      (_, image) => {
        image.writeVarintField(1, 2);
        image.writeVarintField(2, 3);
        image.writeVarintField(3, 3);
        image.writeBytesField(4, encoded);
      },
      null,
    ),
});

/** Encodes an event with one value for each image. */
export const imageEvent = (step: number, tag: string, ...encoded: readonly Uint8Array[]): Buffer =>
  eventOf(
    step,
    encoded.map(bytes => imageValue(tag, bytes)),
  );

/** Encodes an event with a tensor of strings. TensorFlow's `tf.summary.image` writes the width, the height, then the images. */
export const stringsEvent = (step: number, tag: string, ...strings: readonly Uint8Array[]): Buffer =>
  eventWith(step, tag, value =>
    value.writeMessage(
      8,
      (_, tensor) => {
        tensor.writeVarintField(1, 7);
        for (const bytes of strings) tensor.writeBytesField(8, bytes);
      },
      null,
    ),
  );
