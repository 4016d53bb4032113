import { PbfReader } from 'pbf';
import type { MetricsFile } from './files.ts';
import { createNewerFilter, findLossName, gatherPoints, toMetricName, type FilePoint } from './names.ts';
import { createRecordFile } from './record-file.ts';

/** An event of an event file, with its values as `readValue` parsed them. */
interface SummaryEvent<T> {
  /** Seconds since 1970. */
  readonly wallTime: number;
  readonly step: number;
  readonly values: readonly T[];
}

/** The field numbers of event.proto, summary.proto and tensor.proto of TensorFlow. */
const eventFields = { wallTime: 1, step: 2, summary: 5 } as const;
const summaryFields = { value: 1 } as const;
export const valueFields = { tag: 1, simpleValue: 2, image: 4, tensor: 8 } as const;
export const imageFields = { encoded: 4 } as const;
export const tensorFields = {
  type: 1,
  shape: 2,
  content: 4,
  floats: 5,
  doubles: 6,
  ints: 7,
  strings: 8,
  longs: 10,
} as const;
const shapeFields = { dimension: 2 } as const;
const types = { float: 1, double: 2, int32: 3, int64: 9 } as const;

/** Events rarely have more than a few values. The limit bounds the work that a hostile file can cause. */
const maxValues = 1_024;
const maxTagLength = 256;

/** Returns null if the data is not an event. Leaves out each value for which `readValue` returns null. */
export function decodeSummary<T>(
  data: Uint8Array,
  readValue: (value: PbfReader) => T | null,
): SummaryEvent<T> | null {
  const event = { wallTime: 0, step: 0, values: [] as T[] };
  try {
    new PbfReader(data).readFields((field, into, pbf) => {
      if (field === eventFields.wallTime) into.wallTime = pbf.readDouble();
      else if (field === eventFields.step) into.step = pbf.readVarint(true);
      else if (field === eventFields.summary) readSummary(pbf, into.values, readValue);
    }, event);
  } catch {
    return null;
  }
  const isValid = Number.isFinite(event.wallTime) && Number.isSafeInteger(event.step) && event.step >= 0;
  return isValid ? event : null;
}

function readSummary<T>(summary: PbfReader, into: T[], readValue: (value: PbfReader) => T | null): void {
  summary.readMessage((field, values, pbf) => {
    if (field !== summaryFields.value || values.length >= maxValues) return;
    const value = readValue(pbf);
    if (value !== null) values.push(value);
  }, into);
}

/** The name of a figure and its value. */
type Scalar = readonly [tag: string, value: number];

/** @internal */
export const decodeScalars = (data: Uint8Array): SummaryEvent<Scalar> | null =>
  decodeSummary(data, readScalar);

function readScalar(summary: PbfReader): Scalar | null {
  const value = { tag: '', figure: null as number | null };
  summary.readMessage((field, into, pbf) => {
    if (field === valueFields.tag) into.tag = pbf.readString();
    else if (field === valueFields.simpleValue) into.figure = shortest(pbf.readFloat());
    else if (field === valueFields.tensor) into.figure = readTensor(pbf);
  }, value);
  const { tag, figure } = value;
  return figure === null || tag === '' || tag.length > maxTagLength ? null : [tag, figure];
}

/** Newer writers store a scalar as a tensor without dimensions. Returns null for any other tensor. */
function readTensor(value: PbfReader): number | null {
  const empty: Uint8Array = new Uint8Array();
  const tensor = { type: 0, isScalar: true, content: empty, figure: null as number | null };
  value.readMessage((field, into, pbf) => {
    if (field === tensorFields.type) into.type = pbf.readVarint();
    else if (field === tensorFields.shape) into.isScalar = !hasDimensions(pbf);
    else if (field === tensorFields.content) into.content = pbf.readBytes();
    else if (field === tensorFields.floats) into.figure = onlyValue(pbf.readPackedFloat().map(shortest));
    else if (field === tensorFields.doubles) into.figure = onlyValue(pbf.readPackedDouble());
    else if (field === tensorFields.ints || field === tensorFields.longs)
      into.figure = onlyValue(pbf.readPackedVarint([], true));
  }, tensor);
  if (!tensor.isScalar) return null;
  return tensor.figure ?? figureIn(tensor.content, tensor.type);
}

function hasDimensions(tensor: PbfReader): boolean {
  const shape = { count: 0 };
  tensor.readMessage((field, into) => {
    if (field === shapeFields.dimension) into.count += 1;
  }, shape);
  return shape.count > 0;
}

function figureIn(content: Uint8Array, type: number): number | null {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  if (type === types.float && content.length === 4) return shortest(view.getFloat32(0, true));
  if (type === types.double && content.length === 8) return view.getFloat64(0, true);
  if (type === types.int32 && content.length === 4) return view.getInt32(0, true);
  if (type === types.int64 && content.length === 8) return Number(view.getBigInt64(0, true));
  return null;
}

const onlyValue = (figures: readonly number[]): number | null =>
  figures.length === 1 ? (figures[0] ?? null) : null;

/** Returns the shortest decimal number with the same 32-bit value: 0.000135 instead of 0.00013499999477062374. */
function shortest(float: number): number {
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(float.toPrecision(digits));
    if (Math.fround(short) === float) return short;
  }
  return float;
}

/** In bytes. Larger records are histograms, texts or images, which are not read here. */
const maxRecordBytes = 2 * 1024 * 1024;
const partBytes = 512 * 1024;

export interface ReadResult {
  readonly points: readonly FilePoint[];
  /** Whether the file already has more to read. */
  readonly isBehind: boolean;
}

/** Reads the scalars of an event file while it grows. */
export interface EventFile {
  read(file: MetricsFile): Promise<ReadResult>;
}

interface EventFileOptions {
  /** The offset at which the events of this attempt begin. */
  readonly offset: number;
  /** Returns the final name of a metric, which is different if the run is in a folder below another run. */
  readonly rename: (metricName: string) => string;
  /** Called once, with the offset of a corrupt record. The rest of the file is not read. */
  readonly onCorrupt: (offset: number, why: string) => void;
}

export function createEventFile({ offset, rename, onCorrupt }: EventFileOptions): EventFile {
  const file = createRecordFile({ offset, maxRecordBytes, partBytes, onCorrupt });
  const newer = createNewerFilter();
  let lossName: string | null = null;

  const parse = (records: readonly Uint8Array[], onlyNewer: boolean): readonly FilePoint[] => {
    const scalars = records.flatMap(data => {
      const event = decodeScalars(data);
      if (event === null) return [];
      return event.values.map(([tag, value]) => ({ step: event.step, wallTime: event.wallTime, tag, value }));
    });
    lossName = findLossName(
      scalars.map(({ tag }) => tag),
      lossName,
    );
    const gathered = gatherPoints();
    for (const { step, wallTime, tag, value } of scalars)
      gathered.add(step, wallTime * 1_000, rename(toMetricName(tag, lossName)), value);
    return newer(gathered.points(), onlyNewer);
  };

  return {
    async read(current) {
      const { records, isBehind, isRewritten } = await file.read(current);
      return { points: parse(records, isRewritten), isBehind };
    },
  };
}
