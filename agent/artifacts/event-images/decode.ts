import type { PbfReader } from 'pbf';
import {
  decodeSummary,
  imageFields,
  tensorFields,
  valueFields,
} from '../../metrics/metrics-files/event-file.ts';

/** An image as its trainer encoded it. `bytes` shares memory with the event's data. */
export interface LoggedImage {
  readonly tag: string;
  /** Position among the images of the same tag in one event. */
  readonly index: number;
  readonly ending: ImageEnding;
  readonly bytes: Uint8Array;
}

export interface ImageEvent {
  readonly step: number;
  readonly images: readonly LoggedImage[];
}

export type ImageEnding = 'png' | 'jpg' | 'gif' | 'webp';

interface TaggedImages {
  readonly tag: string;
  readonly encoded: readonly Uint8Array[];
}

/** The maximum number of images in an event, to limit the work that a hostile event can cause. */
const maxImagesPerEvent = 64;

/** Returns null if the data is not an event. An event without images has an empty list. */
export function decodeImages(data: Uint8Array): ImageEvent | null {
  const event = decodeSummary(data, readImages);
  if (event === null) return null;
  const counts = new Map<string, number>();
  const images: LoggedImage[] = [];
  for (const { tag, encoded } of event.values)
    for (const bytes of encoded) {
      const ending = findEnding(bytes);
      if (ending === null || images.length === maxImagesPerEvent) continue;
      const index = counts.get(tag) ?? 0;
      counts.set(tag, index + 1);
      images.push({ tag, index, ending, bytes });
    }
  return { step: event.step, images };
}

function readImages(summary: PbfReader): TaggedImages | null {
  const value = { tag: '', encoded: [] as readonly Uint8Array[] };
  summary.readMessage((field, into, pbf) => {
    if (field === valueFields.tag) into.tag = pbf.readString();
    else if (field === valueFields.image) into.encoded = readImage(pbf);
    else if (field === valueFields.tensor) into.encoded = readTensor(pbf);
  }, value);
  return value.tag === '' || value.encoded.length === 0 ? null : value;
}

function readImage(value: PbfReader): readonly Uint8Array[] {
  const encoded: Uint8Array[] = [];
  value.readMessage((field, into, pbf) => {
    if (field === imageFields.encoded) into.push(pbf.readBytes());
  }, encoded);
  return encoded.slice(-1);
}

/**
 * Returns the encoded images of a tensor. TensorFlow 2 stores a batch of images as a tensor of strings: width, height,
 * then each encoded image. The tensor is recognized by this content. Only the first event of a tag names the plugin
 * `images`, and a reader may start after that event.
 */
function readTensor(value: PbfReader): readonly Uint8Array[] {
  const strings: Uint8Array[] = [];
  value.readMessage((field, into, pbf) => {
    if (field === tensorFields.strings && into.length < maxImagesPerEvent + 2) into.push(pbf.readBytes());
  }, strings);
  const [width, height, ...encoded] = strings;
  return isDecimal(width) && isDecimal(height) ? encoded : [];
}

const isDecimal = (bytes: Uint8Array | undefined): boolean =>
  bytes !== undefined && /^\d{1,9}$/.test(latin1(bytes.subarray(0, 10)));

interface Signature {
  readonly ending: ImageEnding;
  /** `start` is the first bytes as Latin-1. */
  readonly matches: (start: string) => boolean;
}

const signatures: readonly Signature[] = [
  { ending: 'png', matches: start => start.startsWith('\x89PNG\r\n\x1a\n') },
  { ending: 'jpg', matches: start => start.startsWith('\xff\xd8\xff') },
  { ending: 'gif', matches: start => /^GIF8[79]a/.test(start) },
  { ending: 'webp', matches: start => start.startsWith('RIFF') && start.startsWith('WEBP', 8) },
];

/** Recognizes the image format by the first bytes. Returns null for formats that browsers do not show. */
function findEnding(bytes: Uint8Array): ImageEnding | null {
  const start = latin1(bytes.subarray(0, 12));
  return signatures.find(({ matches }) => matches(start))?.ending ?? null;
}

const latin1 = (bytes: Uint8Array): string => String.fromCharCode(...bytes);
