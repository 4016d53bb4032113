/** Tests how the worker extracts images from TensorBoard event files: which images, their file names, and the limits. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openEventImages } from '../../../../../agent/artifacts/event-images/index.ts';
import {
  type Candidate,
  createSelection,
  limits,
} from '../../../../../agent/artifacts/event-images/selection.ts';
import { walkOutputs } from '../../../../../agent/artifacts/output-walk.ts';
import { ArtifactPath, checkpointOf, kindOf } from '../../../../../protocol/artifact.ts';
import {
  eventOf,
  eventsName,
  frame,
  imageEvent,
  imageValue,
  scalar,
  stringsEvent,
} from '../../../../support/event-files.ts';
import { pngOf } from '../../../../support/picture.ts';
import { outputOf } from '../../../../support/recordings.ts';
import { tempFolder } from '../../builders.ts';
import { readPosition } from '../../../../../renderer/pages/jobs/files/sorting.ts';

/** A PNG whose content depends on the seed. */
const png = (seed = 0): Uint8Array => pngOf(1, 1, () => [seed & 255, (seed >> 8) & 255, 0]);
const ascii = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const mib = 1024 * 1024;

function pngOfBytes(bytes: number): Uint8Array {
  const padded = new Uint8Array(bytes);
  padded.set(png());
  return padded;
}

interface EventImagesFixture {
  readonly outputDir: string;
  readonly folder: string;
  readonly root: string;
  readonly ready: Promise<void>;
  readonly flaws: readonly string[];
  /** Writes a file below the output folder. */
  write(path: string, ...content: readonly Uint8Array[]): string;
  /** Scans the event files once. Returns true when there is more to read. */
  scan(): Promise<boolean>;
  /** Scans until everything is read. Returns the keys of all images. */
  keys(): Promise<readonly string[]>;
  contentOf(key: string): Uint8Array;
}

/** Opens the event images of a new attempt. With `earlier`, continues this attempt like a restarted worker. */
async function open(earlier?: Pick<EventImagesFixture, 'outputDir' | 'folder'>): Promise<EventImagesFixture> {
  const { outputDir, folder } = earlier ?? {
    outputDir: tempFolder(),
    folder: join(tempFolder(), 'images', 'a1'),
  };
  const { root, ready, scan } = openEventImages({ outputDir, folder, isNew: earlier === undefined });
  await ready;
  const flaws: string[] = [];
  const scanOnce = (): Promise<boolean> => scan(flaw => void flaws.push(flaw));
  return {
    outputDir,
    folder,
    root,
    ready,
    flaws,
    scan: scanOnce,
    write(path, ...content) {
      const file = join(outputDir, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, Buffer.concat(content));
      return file;
    },
    async keys() {
      while (await scanOnce());
      return [...(await walkOutputs(root)).files.keys()].toSorted();
    },
    contentOf: key => new Uint8Array(readFileSync(join(root, key))),
  };
}

describe("event files of TensorBoard's own writer", () => {
  it('extracts images that PyTorch and TensorFlow wrote, but no texts or scalars', async () => {
    const { outputDir, keys, contentOf, flaws } = await open();
    cpSync(outputOf('tensorboard-images'), outputDir, { recursive: true });
    expect(await keys()).toEqual([
      expect.stringMatching(/^tensorboard-images\/logs\/step_100_Prompts-a-cat-[0-9a-f]{8}_0\.png$/),
      expect.stringMatching(/^tensorboard-images\/logs\/step_100_Prompts-a-cat-[0-9a-f]{8}_1\.png$/),
      'tensorboard-images/logs/step_100_clip_0.gif',
      'tensorboard-images/logs/step_100_validation_0.png',
      expect.stringMatching(/^tensorboard-images\/logs\/step_200_Prompts-a-cat-[0-9a-f]{8}_0\.png$/),
      'tensorboard-images/logs/step_200_validation_0.png',
    ]);
    const red = pngOf(3, 2, () => [255, 0, 0]);
    // Compares only the signature and the header, because the encoders compress differently.
    expect(contentOf('tensorboard-images/logs/step_100_validation_0.png').subarray(0, 33)).toEqual(
      red.subarray(0, 33),
    );
    expect(flaws).toEqual([]);
  });

  it('names images so that the panel reads their step and series', async () => {
    const { outputDir, keys } = await open();
    cpSync(outputOf('tensorboard-images'), outputDir, { recursive: true });
    const imageKeys = await keys();
    expect(new Set(imageKeys.map(kindOf))).toEqual(new Set(['sample_image']));
    const positions = imageKeys.map(readPosition);
    expect(positions.map(({ at }) => at)).toEqual(
      [100, 100, 100, 100, 200, 200].map(count => ({ unit: 'step', count })),
    );
    const [catAt100, secondCatAt100, , validationAt100, catAt200, validationAt200] = positions.map(
      ({ series }) => series,
    );
    expect(validationAt100).toBe(validationAt200);
    expect(catAt100).toBe(catAt200);
    expect(catAt100).not.toBe(secondCatAt100);
  });
});

describe('image extraction', () => {
  it('writes an image unchanged and with a private mode, without a temporary file', async () => {
    const { write, keys, contentOf, root } = await open();
    write(eventsName, scalar(1, 'loss', 1), imageEvent(5, 'validation', png(7)));
    const key = 'tensorboard-images/step_5_validation_0.png';
    expect(await keys()).toEqual([key]);
    expect(contentOf(key)).toEqual(png(7));
    expect(statSync(join(root, key)).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(join(root, key)))).toEqual(['step_5_validation_0.png']);
  });

  it.each([
    ['png', png()],
    ['jpg', ascii('\xff\xd8\xff\xe0 jpeg')],
    ['gif', ascii('GIF89a gif')],
    ['gif', ascii('GIF87a gif')],
    ['webp', ascii('RIFF\x10\0\0\0WEBPVP8 ')],
  ])('recognizes a %s image by its first bytes', async (ending, bytes) => {
    const { write, keys } = await open();
    write(eventsName, imageEvent(1, 'validation', bytes));
    expect(await keys()).toEqual([`tensorboard-images/step_1_validation_0.${ending}`]);
  });

  it.each([
    ['an HTML page', ascii('<!doctype html><script>alert(1)</script>')],
    ['an SVG drawing, which may contain scripts', ascii('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['an executable', ascii('\x7fELF')],
    ['another RIFF file', ascii('RIFF\x10\0\0\0WAVEfmt ')],
    ['a partial PNG signature', ascii('\x89PNG')],
    ['no bytes', new Uint8Array()],
  ])('ignores an image value that contains %s', async (_title, bytes) => {
    const { write, keys } = await open();
    write(
      eventsName,
      imageEvent(1, 'validation', bytes),
      stringsEvent(1, 'batch', ascii('1'), ascii('1'), bytes),
      imageEvent(2, 'validation', png()),
    );
    expect(await keys()).toEqual(['tensorboard-images/step_2_validation_0.png']);
  });

  it('extracts no images from a tensor of texts', async () => {
    const { write, keys } = await open();
    write(
      eventsName,
      stringsEvent(1, 'a', png()),
      stringsEvent(1, 'b', ascii('one'), ascii('2'), png()),
      stringsEvent(1, 'c', ascii('1'), ascii('2')),
      stringsEvent(1, 'd'),
    );
    expect(await keys()).toEqual([]);
  });

  it('numbers the images of a batch in their names, also for repeated tags', async () => {
    const { write, keys } = await open();
    write(
      eventsName,
      stringsEvent(1, 'batch', ascii('1'), ascii('1'), png(1), png(2), png(3)),
      eventOf(2, [imageValue('a', png(1)), imageValue('b', png(2)), imageValue('a', png(3))]),
    );
    expect(await keys()).toEqual(
      ['1_batch_0', '1_batch_1', '1_batch_2', '2_a_0', '2_a_1', '2_b_0'].map(
        name => `tensorboard-images/step_${name}.png`,
      ),
    );
  });

  it('writes an image of 16 MiB, and skips and reports a larger image', async () => {
    const { write, keys, flaws } = await open();
    write(
      eventsName,
      imageEvent(1, 'fits', pngOfBytes(limits.imageBytes)),
      imageEvent(2, 'large', pngOfBytes(limits.imageBytes + 1)),
      imageEvent(3, 'fits', png()),
    );
    expect(await keys()).toEqual([
      'tensorboard-images/step_1_fits_0.png',
      'tensorboard-images/step_3_fits_0.png',
    ]);
    expect(flaws).toEqual(['event files contain images larger than 16 MiB']);
  });

  it('skips an image in a record over 32 MiB, and reads later records', async () => {
    const { write, keys } = await open();
    write(eventsName, imageEvent(1, 'huge', pngOfBytes(33 * mib)), imageEvent(2, 'small', png()));
    expect(await keys()).toEqual(['tensorboard-images/step_2_small_0.png']);
  });

  it('writes an image when the rest of its record arrives', async () => {
    const { write, keys, contentOf } = await open();
    const large = imageEvent(2, 'large', pngOfBytes(5 * mib));
    const file = write(eventsName, imageEvent(1, 'small', png()), large.subarray(0, 20));
    expect(await keys()).toEqual(['tensorboard-images/step_1_small_0.png']);
    appendFileSync(file, large.subarray(20, 2 * mib));
    expect(await keys()).toHaveLength(1);
    appendFileSync(file, large.subarray(2 * mib));
    expect(await keys()).toHaveLength(2);
    expect(contentOf('tensorboard-images/step_2_large_0.png')).toEqual(pngOfBytes(5 * mib));
  });

  it('reads images after a malformed event, but none after a corrupt record', async () => {
    const { write, keys } = await open();
    const damaged = imageEvent(3, 'a', png());
    // Inverts one byte in the middle of the record, so that its checksum is wrong.
    damaged[40] = (damaged[40] ?? 0) ^ 0xff;
    write(
      eventsName,
      frame(ascii('this is no event')),
      frame(Uint8Array.of(0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f)),
      imageEvent(2, 'a', png()),
      damaged,
      imageEvent(4, 'a', png()),
    );
    expect(await keys()).toEqual(['tensorboard-images/step_2_a_0.png']);
  });
});

describe('keys of images', () => {
  const tags = [
    '../../x',
    '/etc/passwd',
    '..',
    '.',
    'C:\\windows\\x',
    'a b',
    'a-b',
    'A-B',
    'a/b',
    'a--b',
    'a//b',
    'con',
    'nul.txt',
    '\u0000\n\u202e',
    '猫の写真',
    'बिल्ली',
    'caf\u00e9',
    'cafe\u0301',
    'x'.repeat(300),
    `${'x'.repeat(300)}y`,
    '猫'.repeat(100_000),
    '-'.repeat(100_000),
    `a${'-'.repeat(200_000)}b`,
    '%2e%2e%2f',
    'checkpoint-500',
    'a.tmp',
  ];

  it('makes unique keys that are valid file names on every system for any tag', async () => {
    const { write, keys, root } = await open();
    write(eventsName, ...tags.map(tag => imageEvent(1, tag, png())));
    const imageKeys = await keys();
    expect(imageKeys).toHaveLength(tags.length);
    for (const key of imageKeys) {
      expect(ArtifactPath.safeParse(key)).toMatchObject({ success: true, data: key });
      expect(checkpointOf(key)).toBeNull();
      expect(readPosition(key).at).toEqual({ unit: 'step', count: 1 });
    }
    // Some file systems ignore case or normalize Unicode, so the keys must also differ in lower case and normalized.
    expect(new Set(imageKeys.map(key => key.normalize('NFD').toLowerCase())).size).toBe(tags.length);
    expect(readdirSync(root)).toEqual(['tensorboard-images']);
  });

  it('includes the folder of the event file in the key', async () => {
    const { write, keys } = await open();
    const folders = ['', 'train', 'validation', 'CON', 'con', 'a b/c', 'a-b/c', 'checkpoint-5'];
    for (const folder of folders) write(join(folder, eventsName), imageEvent(1, 'batch', png()));
    const imageKeys = await keys();
    expect(imageKeys).toHaveLength(folders.length);
    expect(imageKeys).toEqual(
      expect.arrayContaining([
        'tensorboard-images/step_1_batch_0.png',
        'tensorboard-images/train/step_1_batch_0.png',
        'tensorboard-images/validation/step_1_batch_0.png',
      ]),
    );
    for (const key of imageKeys) expect(ArtifactPath.safeParse(key)).toMatchObject({ success: true });
  });

  it('keeps plain words readable in the key', async () => {
    const { write, keys } = await open();
    write(`logs/flux-lora/${eventsName}`, imageEvent(500, 'val/images', png()));
    expect(await keys()).toEqual(['tensorboard-images/logs--flux-lora/step_500_val--images_0.png']);
  });

  it('writes through no link that the trainer placed in the output folder', async () => {
    const { write, keys, outputDir } = await open();
    const outside = tempFolder();
    symlinkSync(outside, join(outputDir, 'tensorboard-images'));
    symlinkSync(outside, join(outputDir, 'images'));
    write(eventsName, imageEvent(1, 'a', png()));
    expect(await keys()).toEqual(['tensorboard-images/step_1_a_0.png']);
    expect(readdirSync(outside)).toEqual([]);
  });
});

describe('images of an attempt', () => {
  it('ignores images that event files had before the attempt started', async () => {
    const outputDir = tempFolder();
    const file = join(outputDir, eventsName);
    writeFileSync(file, imageEvent(1, 'a', png()));
    const folder = join(tempFolder(), 'a2');
    const images = openEventImages({ outputDir, folder, isNew: true });
    await images.ready;
    appendFileSync(file, imageEvent(2, 'a', png()));
    writeFileSync(join(outputDir, `${eventsName}.new`), imageEvent(3, 'a', png()));
    await images.scan(() => {});
    expect([...(await walkOutputs(images.root)).files.keys()].toSorted()).toEqual([
      'tensorboard-images/step_2_a_0.png',
      'tensorboard-images/step_3_a_0.png',
    ]);
  });

  it('continues after a restart of the worker without writing an image twice', async () => {
    const first = await open();
    const file = first.write(eventsName, imageEvent(1, 'a', png(1)), imageEvent(2, 'a', png(2)));
    const written = await first.keys();
    /** The inode and the modification time of each image. A second write would change them. */
    const fileStates = () =>
      written.map(key => {
        const { ino, mtimeMs } = statSync(join(first.root, key));
        return [ino, mtimeMs];
      });
    const statesBefore = fileStates();
    appendFileSync(file, imageEvent(3, 'a', png(3)));
    const second = await open(first);
    expect(await second.keys()).toEqual([...written, 'tensorboard-images/step_3_a_0.png']);
    expect(fileStates()).toEqual(statesBefore);
  });

  it('ignores images of earlier attempts also after a restart of the worker', async () => {
    const outputDir = tempFolder();
    const file = join(outputDir, eventsName);
    writeFileSync(file, imageEvent(1, 'a', png()));
    const folder = join(tempFolder(), 'a2');
    await openEventImages({ outputDir, folder, isNew: true }).ready;
    appendFileSync(file, imageEvent(2, 'a', png()));
    expect(await (await open({ outputDir, folder })).keys()).toEqual(['tensorboard-images/step_2_a_0.png']);
  });

  it('extracts no images if the sizes of the event files at the start of the attempt are unknown', async () => {
    const earlier = { outputDir: tempFolder(), folder: join(tempFolder(), 'a1') };
    writeFileSync(join(earlier.outputDir, eventsName), imageEvent(1, 'a', png()));
    expect(await (await open(earlier)).keys()).toEqual([]);
    mkdirSync(earlier.folder);
    writeFileSync(join(earlier.folder, 'began.json'), '{"events');
    expect(await (await open(earlier)).keys()).toEqual([]);
  });

  it('keeps the first image of a step if the trainer rewrites its event file', async () => {
    const { write, keys, contentOf } = await open();
    const file = write(eventsName, imageEvent(1, 'a', png(1)), imageEvent(2, 'a', png(2)));
    await keys();
    truncateSync(file, 0);
    appendFileSync(file, imageEvent(2, 'a', png(9)));
    expect(await keys()).toHaveLength(2);
    appendFileSync(file, imageEvent(3, 'a', png(3)));
    expect(await keys()).toHaveLength(3);
    expect(contentOf('tensorboard-images/step_2_a_0.png')).toEqual(png(2));
  });

  it('skips images that cannot be written, and reports them once', async () => {
    const { write, keys, flaws, root } = await open();
    writeFileSync(root, 'in the way');
    const file = write(eventsName, imageEvent(1, 'a', png()), imageEvent(2, 'a', png()));
    expect(await keys()).toEqual([]);
    expect(new Set(flaws)).toEqual(
      new Set([`an image of an event file cannot be written into ${root} (ENOTDIR)`]),
    );
    rmSync(root);
    appendFileSync(file, imageEvent(3, 'a', png()));
    expect(await keys()).toEqual(['tensorboard-images/step_3_a_0.png']);
  });

  it('reads a bounded number of bytes of event files per call', async () => {
    const { write, scan, keys } = await open();
    const steps = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    write(eventsName, ...steps.map(step => imageEvent(step, 'a', pngOfBytes(3 * mib))));
    expect(await scan()).toBe(true);
    expect(await keys()).toHaveLength(steps.length);
    expect(await scan()).toBe(false);
  });

  it('finds no images without an output folder', async () => {
    const earlier = await open();
    rmSync(earlier.outputDir, { recursive: true });
    expect(await earlier.keys()).toEqual([]);
  });
});

describe('selection of images', () => {
  const candidate = (step: number, tag = 'a', bytes = png()): Candidate => ({
    folder: '',
    tag,
    step,
    index: 0,
    ending: 'png',
    bytes,
  });
  const range = (from: number, to: number): readonly number[] =>
    Array.from({ length: to - from }, (_, index) => from + index);
  const stepsIn = (images: readonly { readonly path: string }[]): readonly number[] =>
    images.map(({ path }) => readPosition(path).at?.count ?? -1);

  it('selects the newest 64 images of each tag per read', () => {
    const { images } = createSelection([]).choose([
      ...range(0, 500).map(step => candidate(step)),
      candidate(3, 'b'),
    ]);
    expect(stepsIn(images)).toEqual([...range(500 - limits.perRead, 500), 3]);
  });

  it('selects the first 200 steps of a tag, then only steps at least 2 % beyond the previous selected step', () => {
    const selection = createSelection([]);
    const selected = range(1, 3_001).flatMap(step => stepsIn(selection.choose([candidate(step)]).images));
    expect(selected.slice(0, limits.steps)).toEqual(range(1, 201));
    let previous: number = limits.steps;
    for (const step of selected.slice(limits.steps)) {
      expect(step / previous).toBeGreaterThanOrEqual(limits.growth);
      expect(step / previous).toBeLessThan(limits.growth + 0.01);
      previous = step;
    }
    expect(selected.length).toBeGreaterThanOrEqual(limits.steps + 100);
    // Each tag is counted separately.
    expect(stepsIn(selection.choose([candidate(3_000, 'b'), candidate(3_001, 'b')]).images)).toEqual([
      3_000, 3_001,
    ]);
  });

  it('selects an image only when its step is later than the newest selected step of its tag', () => {
    const selection = createSelection([]);
    expect(
      stepsIn(selection.choose([candidate(10), candidate(5), candidate(10), candidate(11)]).images),
    ).toEqual([10, 11]);
  });

  it('selects at most 2,000 images per attempt, counted across restarts of the worker', () => {
    const written = range(0, limits.images - 1).map(
      step => [`tensorboard-images/step_${step}_tag-${step}_0.png`, 1] as const,
    );
    const selection = createSelection(written);
    expect(selection.isFull()).toBe(false);
    expect(stepsIn(selection.choose([candidate(5_000), candidate(5_001)]).images)).toEqual([5_000]);
    expect(selection.isFull()).toBe(true);
  });

  it('selects no image once the attempt has 2 GiB of images', () => {
    const written = [['tensorboard-images/step_1_a_0.png', limits.bytes - 1]] as const;
    const selection = createSelection([...written, ['other.txt', limits.bytes]]);
    expect(stepsIn(selection.choose([candidate(2), candidate(3)]).images)).toEqual([2]);
    expect(selection.isFull()).toBe(true);
  });

  it('reports once that the limit of the attempt is reached', async () => {
    const earlier = await open();
    earlier.write(eventsName, imageEvent(1, 'a', png()));
    const full = join(earlier.root, 'tensorboard-images');
    mkdirSync(full, { recursive: true });
    for (const step of range(0, limits.images)) writeFileSync(join(full, `step_${step}_b_0.png`), '');
    const { keys, flaws } = await open(earlier);
    expect(await keys()).toHaveLength(limits.images);
    expect(flaws).toEqual([expect.stringContaining('the limit of 2000 images or 2048 MiB from event files')]);
  });
});
