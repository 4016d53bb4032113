// Faults S8, S9, S14 and S15 in docs/internals/faults.md.
import { describe, expect, test } from 'vitest';
import { NewWorker, workersApi } from '../../../protocol/admin-api.ts';
import { queueApi, SubmitRequest } from '../../../protocol/queue-api.ts';
import { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import { cleanLine, escapeInvisible, LabelPatterns, Labels } from '../../../protocol/text.ts';
import { workerApi } from '../../../protocol/worker-api.ts';

describe('ids', () => {
  test.each(['a', 'w_0123', 'A-b_9', '-', 'x'.repeat(64)])('accepts the id %s', id => {
    for (const schema of [WorkerId, JobId, AttemptId]) expect(schema.parse(id)).toBe(id);
  });

  test.each([
    '',
    '.',
    '..',
    '../x',
    'a/b',
    'a\\b',
    '%00',
    '%2e%2e',
    'a\u0000',
    'a\n',
    'a b',
    'a.b',
    'ä',
    '１',
    'x'.repeat(65),
    'x'.repeat(10_000),
    42,
    null,
    ['a'],
  ])('refuses the id %j', id => {
    for (const schema of [WorkerId, JobId, AttemptId]) expect(schema.safeParse(id).success).toBe(false);
    for (const { params } of [queueApi.get, queueApi.cancel, workersApi.drain, workerApi.reportStatus]) {
      expect(params.safeParse({ id }).success).toBe(false);
    }
    expect(workerApi.stream.query.safeParse({ worker_id: id }).success).toBe(false);
  });
});

describe('name of a worker', () => {
  const nameOf = (name: unknown) => NewWorker.safeParse({ name }).data?.name;

  test.each([
    ['rig 3', 'rig 3'],
    ['  rig 3  ', 'rig 3'],
    ['ключ-Ü-机器', 'ключ-Ü-机器'],
    ['🦊', '🦊'],
    ['<b>rig</b>', '<b>rig</b>'],
    ['x'.repeat(100), 'x'.repeat(100)],
  ])('parses the worker name %j as %j', (name, parsed) => {
    expect(nameOf(name)).toBe(parsed);
  });

  test.each([
    ['an empty name', ''],
    ['blanks', '   '],
    ['101 letters', 'x'.repeat(101)],
    ['a line break', 'rig\nevent: forged'],
    ['a carriage return', 'rig\rdata: forged'],
    ['NUL', 'rig\u0000'],
    ['an ANSI escape', '\u001B[31mrig'],
    ['a C1 control', 'rig\u0085x'],
    ['a right-to-left override', 'rig\u202Egpj.exe'],
    ['a direction isolate', 'rig\u2066x'],
    ['a zero-width space', 'ri\u200Bg'],
    ['a line separator', 'rig\u2028x'],
    ['a paragraph separator', 'rig\u2029x'],
    ['a number', 42],
    ['null', null],
  ])('refuses a worker name with %s', (_title, name) => {
    expect(nameOf(name)).toBeUndefined();
  });

  test('requires the name of a new worker, but neither its type nor its labels', () => {
    expect(NewWorker.safeParse({}).success).toBe(false);
    expect(NewWorker.parse({ name: 'rig' })).toEqual({ name: 'rig', worker_type: 'persistent', labels: {} });
    for (const worker_type of ['persistent', 'ephemeral']) {
      expect(NewWorker.parse({ name: 'rig', worker_type })).toMatchObject({ worker_type });
    }
    expect(NewWorker.safeParse({ name: 'rig', worker_type: 'eternal' }).success).toBe(false);
  });
});

describe('labels', () => {
  const labelsOf = (count: number, key = 'k') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${key}${index}`, 'v']));

  test('converts numbers and booleans to text', () => {
    expect(Labels.parse({ rack: 4, spot: true, ratio: 0.5, gpu: 'a100' })).toEqual({
      rack: '4',
      spot: 'true',
      ratio: '0.5',
      gpu: 'a100',
    });
  });

  test.each([
    ['64 labels', labelsOf(64)],
    ['64 letters in a name', { ['k'.repeat(64)]: 'v' }],
    ['64 letters in a value', { k: 'v'.repeat(64) }],
    ['three stars', { k: '*a*b*' }],
    ['an empty value', { k: '' }],
    ['names that every object has', { constructor: 'a', toString: 'b' }],
  ])('accepts labels with %s', (_title, labels) => {
    expect(Labels.parse(labels)).toEqual(labels);
    expect(LabelPatterns.parse(labels)).toEqual(labels);
  });

  test.each([
    ['65 labels', labelsOf(65)],
    ['10,000 labels', labelsOf(10_000)],
    ['an empty name', { '': 'v' }],
    ['65 letters in a name', { ['k'.repeat(65)]: 'v' }],
    ['65 letters in a value', { k: 'v'.repeat(65) }],
    ['null', { k: null }],
    ['a list', { k: ['v'] }],
    ['an object', { k: {} }],
    ['NaN', { k: Number.NaN }],
    ['a list of labels', [{ k: 'v' }]],
    ['a text', 'k=v'],
  ])('refuses labels with %s', (_title, labels) => {
    expect(Labels.safeParse(labels).success).toBe(false);
    expect(LabelPatterns.safeParse(labels).success).toBe(false);
  });

  test.each(['*a*a*a*a*b', '****', '**x**'])(
    'accepts more than three stars in a label, but not in a pattern: %s',
    value => {
      expect(Labels.safeParse({ k: value }).success).toBe(true);
      const refused = LabelPatterns.safeParse({ k: value });
      expect(refused.error?.issues).toMatchObject([{ path: ['k'], message: 'at most 3 "*" in a pattern' }]);
    },
  );

  test('refuses a label named __proto__', () => {
    const raw: unknown = JSON.parse('{"__proto__": "x", "gpu": "a100"}');
    for (const schema of [Labels, LabelPatterns]) {
      const refused = schema.safeParse(raw);
      expect(refused.error?.issues).toMatchObject([{ message: '"__proto__" is not a label name' }]);
    }
  });
});

describe('text with control characters', () => {
  test.each(['a\nb', 'a\u001b[31m', 'a\u202eb', 'a\u2028b', 'a\u0000'])(
    'refuses %j in text that users write',
    text => {
      expect(SubmitRequest.safeParse({ config: {}, config_name: text }).success).toBe(false);
      expect(workersApi.drain.body.safeParse({ reason: text }).success).toBe(false);
    },
  );

  test('replaces control characters in text from an agent by spaces', () => {
    const registration = workerApi.register.body.parse({ name: 'rig\u001b[31m\n7', gpu_name: 'A100\u202e' });
    expect(registration.host).toBe('rig [31m 7');
    expect(registration.capabilities.gpuName).toBe('A100 ');
  });

  test('replaces invisible characters by spaces in terminal lines, and by escapes in JSON', () => {
    const text = 'a\u001b[31m\u009b1m\u202e\u2028\r\n\u{e0041}z 機 🦊';
    expect(cleanLine(text)).toBe('a [31m 1m     z 機 🦊');
    const json = JSON.stringify({ text, list: [text] }, null, 2);
    const escaped = escapeInvisible(json);
    expect(JSON.parse(escaped)).toEqual(JSON.parse(json));
    expect(escaped).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(escaped.split('\n')).toHaveLength(json.split('\n').length);
    expect(escaped).toContain('機 🦊');
  });

  test('refuses unknown keys in a drain request', () => {
    const parsed = workersApi.drain.body.safeParse({ until: 60 });
    expect(parsed.error?.issues[0]?.message).toContain('until');
  });
});

describe('joiners (U+200C and U+200D)', () => {
  const joinedEmoji = [
    '\u{1F469}\u200D\u{1F4BB}',
    '\u{1F3F3}\uFE0F\u200D\u{1F308}',
    '\u{1F469}\u{1F3FD}\u200D\u{1F52C}',
  ];
  test.each(joinedEmoji)('accepts the joined emoji %j in a worker name and prints it unchanged', emoji => {
    expect(NewWorker.parse({ name: `rig ${emoji}` }).name).toBe(`rig ${emoji}`);
    expect(cleanLine(emoji)).toBe(emoji);
  });

  test('accepts a joiner after a virama, as in Hindi and other Indian scripts', () => {
    const notes = 'क्\u200Dष पर ट्रेनिंग, द्\u200Cव';
    expect(NewWorker.parse({ name: notes }).name).toBe(notes);
    expect(cleanLine(notes)).toBe(notes);
  });

  test.each([
    'a\u200Db',
    'क\u200Dष',
    'क्\u200D\u200Dष',
    'क्\u202E',
    '\u200D\u{1F4BB}',
    '\u{1F469}\u200D',
    '\u{1F469}\u200D\u200D\u{1F4BB}',
    '\u{1F469}\u200C\u{1F4BB}',
  ])('refuses the worker name %j, whose joiner joins no emoji or letters', name => {
    expect(NewWorker.safeParse({ name }).success).toBe(false);
  });
});
