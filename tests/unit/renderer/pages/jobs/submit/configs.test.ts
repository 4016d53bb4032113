/** Tests the configs of the submit form: their differences, their secrets, and the copy of an earlier job. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ConfigView } from '../../../../../../protocol/configs-api.ts';
import type { JobView } from '../../../../../../protocol/job.ts';
import { submit } from '../../../../../../renderer/i18n/en/submit.ts';
import type { Translator } from '../../../../../../renderer/i18n/index.ts';
import { loadTexts } from '../../../../../support/texts.ts';
import { withPageTexts } from '../../../../../../renderer/i18n/page-texts.ts';
import { checkDraft } from '../../../../../../renderer/pages/jobs/submit/draft-check.ts';
import {
  type Draft,
  toDraft,
  emptyDraft,
  type Origins,
  compareWithFolder,
} from '../../../../../../renderer/pages/jobs/submit/draft.ts';
import { priorityChoices } from '../../../../../../renderer/pages/jobs/figures.ts';
import { isSecretName } from '../../../../../../protocol/secret-names.ts';
import { jobView } from '../../../../../support/job-view.ts';
import { forgetDrafts } from '../../../../../../renderer/api/session.ts';
import { formatOfText } from '../../../../../../renderer/pages/jobs/submit/config-text.ts';
import {
  forgetDraft,
  keepDraft,
  keptDraft,
} from '../../../../../../renderer/pages/jobs/submit/stored-draft.ts';
import { aboutConfig } from '../../../../../../renderer/pages/jobs/submit/config-picker.tsx';
import {
  differences,
  isSame,
  conceal,
  hidden,
} from '../../../../../../renderer/pages/jobs/submit/config-parts.tsx';

let t: Translator;
beforeAll(async () => {
  t = await loadTexts('en', 'utc');
});

const job = (part: Partial<JobView> = {}): JobView =>
  jobView({ status: 'failed', gpu_count: 1, attempt: 1, ...part });

describe('differences', () => {
  it('lists each changed setting, independent of the order of the keys', () => {
    const before = { lr: 1, steps: 10, removed: null, deep: { a: [1, { b: 2 }], same: true } };
    const after = { deep: { same: true, a: [1, { b: 3 }] }, steps: '10', lr: 1, added: [] };
    expect(differences(before, after)).toEqual([
      { path: 'added', before: null, after: '[]' },
      { path: 'deep.a[1].b', before: '2', after: '3' },
      { path: 'removed', before: 'null', after: null },
      { path: 'steps', before: '10', after: '"10"' },
    ]);
  });

  it('lists a whole array as one change when its length changes', () => {
    expect(differences({ a: [1, 2] }, { a: [1, 2, 3] })).toEqual([
      { path: 'a', before: '[1,2]', after: '[1,2,3]' },
    ]);
    expect(differences({ a: [1] }, { a: { 0: 1 } })).toEqual([
      { path: 'a', before: '[1]', after: '{"0":1}' },
    ]);
  });

  it('compares keys such as constructor, which every object inherits', () => {
    expect(differences({}, JSON.parse('{"constructor": 1, "__proto__": 2}'))).toEqual([
      { path: '__proto__', before: null, after: '2' },
      { path: 'constructor', before: null, after: '1' },
    ]);
  });

  it('reports two configs as the same only when they are equal apart from the order of their keys', () => {
    const shuffled = fc.json().chain(text => {
      const value: unknown = JSON.parse(text);
      return fc.boolean().map(isReversed => [value, isReversed ? reversed(value) : value] as const);
    });
    fc.assert(fc.property(shuffled, ([a, b]) => isSame(a, b)));
    fc.assert(
      fc.property(fc.json(), fc.json(), (a, b) => {
        const [x, y] = [JSON.parse(a) as unknown, JSON.parse(b) as unknown];
        expect(isSame(x, y)).toBe(canonical(x) === canonical(y));
      }),
    );
  });
});

/** Reverses the key order of every object. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, part]: readonly [string, unknown]) => [name, reversed(part)] as const)
      .toReversed(),
  );
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? { fields: Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)) }
      : part,
  );

describe('secrets in a config', () => {
  it.each([
    'hub_token',
    '--hub_token',
    'token',
    'tracker_api_key',
    'apiKey',
    'awsSecretKey',
    'aws_secret_access_key',
  ])('treats the key %s as a secret', name => expect(isSecretName(name)).toBe(true));
  it.each(['tokenizer_max_length', 'max_tokenizer', 'keyframes', 'secretary', 'lr', 'api', 'key'])(
    'does not treat the key %s as a secret',
    name => expect(isSecretName(name)).toBe(false),
  );

  it('masks secrets at any depth, and no other values', () => {
    const config = {
      lr: 1,
      hub_token: 'hf_x',
      empty_token: '',
      token: { a: 'x' },
      data: [{ api_key: 'y', path: '/x' }],
    };
    expect(conceal(config)).toEqual({
      count: 2,
      value: {
        lr: 1,
        hub_token: hidden,
        empty_token: '',
        token: { a: 'x' },
        data: [{ api_key: hidden, path: '/x' }],
      },
    });
    expect(conceal([1, null])).toEqual({ count: 0, value: [1, null] });
  });
});

const toConfigFile = (config: object) => ({
  text: JSON.stringify(config),
  format: 'json' as const,
  files: {},
});

describe('a duplicate of a job', () => {
  const own = { config: { lr: 1 }, dataloader: null };
  const folderOf = (config: Readonly<Record<string, unknown>>) => ({
    ...own,
    ...toConfigFile(config),
    config,
    etag: '"1"',
  });
  const inFolder = folderOf({ lr: 1 });
  const draft = (origins: Partial<Origins>, part?: Partial<JobView>) =>
    toDraft(job(part), { own: null, inFolder: null, ...origins });
  const bodyOf = (draftToCheck: Draft) => checkDraft(draftToCheck, withPageTexts(t, submit));

  it("sends only the config name while the folder still has the job's config under this name", () => {
    const copied = draft({ own, inFolder });
    expect(copied).toMatchObject({ config: '{"lr":1}', takesAnyGpu: false, base: { origin: 'folder' } });
    expect(bodyOf(copied)).toMatchObject({ body: { config_name: 'digits' } });
    expect(bodyOf(copied)).not.toHaveProperty('body.config');
  });

  it('sends the config text when it differs from the config in the folder', () => {
    const copied = { ...draft({ own, inFolder }), config: 'lr: 2 # higher', format: 'yaml' as const };
    expect(bodyOf(copied)).toMatchObject({ body: { config: { lr: 2 }, config_name: 'digits' } });
    expect(bodyOf({ ...draft({ own, inFolder }), configName: 'other' })).toMatchObject({
      body: { config: { lr: 1 }, config_name: 'other' },
    });
  });

  it('requests any GPUs when the job requested any GPUs', () => {
    const pinned = folderOf({ lr: 1, '--accelerate_visible_devices': [2] });
    const copied = draft({ own, inFolder: pinned });
    expect(copied).toMatchObject({ takesAnyGpu: true });
    expect(bodyOf(copied)).not.toHaveProperty('body.config');
  });

  it("sends the job's config with its files when the folder has another config under the name", () => {
    const dataloader = [{ id: 'images' }];
    const files = { 'prompts.txt': 'a dog' };
    const copied = draft({ own: { ...own, dataloader, files }, inFolder: folderOf({ lr: 2 }) });
    expect(copied).toMatchObject({ configName: 'digits', base: { origin: 'job', config: { lr: 1 } } });
    expect(bodyOf(copied)).toMatchObject({
      ok: true,
      body: { config: { lr: 1 }, config_name: 'digits', dataloader, files },
    });
  });

  it("sends the job's config when only the dataloader in the folder differs", () => {
    const copied = draft({ own, inFolder: { ...inFolder, dataloader: [] } });
    expect(bodyOf(copied)).toMatchObject({ body: { config: { lr: 1 } } });
  });

  it("sends the job's config when the folder no longer has a config with the name", () => {
    expect(bodyOf(draft({ own }))).toMatchObject({ body: { config: { lr: 1 }, config_name: 'digits' } });
    expect(draft({ own }, { config_name: 'inline' })).toMatchObject({ configName: '' });
  });

  it("refuses a duplicate until the user enters a config when the job's config is unreadable", () => {
    expect(draft({})).toMatchObject({ configName: 'digits', config: '' });
    expect(bodyOf(draft({}, { config_name: 'inline' }))).toMatchObject({ ok: false });
  });

  it('compares config and dataloader with the folder, and reports pinned GPUs separately', () => {
    expect(compareWithFolder(own, inFolder)).toBe('same');
    expect(
      compareWithFolder(own, { config: { lr: 1, accelerate_visible_devices: [0] }, dataloader: null }),
    ).toBe('any GPUs');
    expect(compareWithFolder(own, { ...own, dataloader: {} })).toBe('other');
  });

  it('keeps a priority between two named priorities, and offers this priority as a choice', () => {
    expect(bodyOf(draft({ own, inFolder }, { priority: 15 }))).toMatchObject({
      body: { priority: 15 },
    });
    expect(priorityChoices(15)).toEqual([40, 30, 20, 15, 10, 0]);
    expect(priorityChoices(10)).toEqual([40, 30, 20, 10, 0]);
  });

  it('sends no dataloader when the form has none', () => {
    const checked = bodyOf({ ...emptyDraft, config: '{}' });
    expect(checked.ok && Object.hasOwn(checked.body, 'dataloader')).toBe(false);
  });
});

describe('a stored draft', () => {
  const storeOf = (entries: readonly (readonly [string, string])[] = []) => {
    const stored = new Map(entries);
    return {
      stored,
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, text: string) => void stored.set(key, text),
      removeItem: (key: string) => void stored.delete(key),
      key: (index: number) => [...stored.keys()][index] ?? null,
      get length() {
        return stored.size;
      },
    };
  };
  const filled: Draft = { ...emptyDraft, config: '{"lr": 1}', labels: [{ id: 1, key: 'a', pattern: 'b' }] };

  it('restores a draft unchanged, separately for each copied job', () => {
    const store = storeOf();
    keepDraft(store, null, filled);
    keepDraft(store, 'j_1', { ...filled, gpus: '2' });
    expect(keptDraft(store, null)).toEqual(filled);
    expect(keptDraft(store, 'j_1')).toEqual({ ...filled, gpus: '2' });
    forgetDraft(store, null);
    expect(keptDraft(store, null)).toBeNull();
  });

  it.each([
    ['invalid JSON', '{'],
    ['a number', '3'],
    ['a list', '[]'],
    ['a draft with an invalid field', JSON.stringify({ ...filled, labels: 'a' })],
    ['a draft with missing fields', '{"config": "{}"}'],
  ])('ignores a stored draft that is %s', (_title, text) => {
    expect(keptDraft(storeOf([['trainyard.draft.new', text]]), null)).toBeNull();
  });

  it('deletes the drafts in forgetDrafts, and keeps other entries of the storage', () => {
    const store = storeOf([['trainyard.reloaded', '1']]);
    keepDraft(store, null, filled);
    keepDraft(store, 'j_1', filled);
    forgetDrafts(store);
    expect([...store.stored.keys()]).toEqual(['trainyard.reloaded']);
  });

  it('does not store a draft that is too large, and ignores a storage that throws', () => {
    const store = storeOf();
    keepDraft(store, null, { ...filled, config: 'x'.repeat(600_000) });
    expect(store.stored.size).toBe(0);
    const full = () => {
      throw new Error('quota');
    };
    expect(() => keepDraft({ ...store, setItem: full }, null, filled)).not.toThrow();
  });
});

describe('the format of a pasted text', () => {
  it.each([
    ['{"a": 1}', 'toml', 'json'],
    ['a = 1', 'json', 'toml'],
    ['a: 1', 'json', 'yaml'],
    ['{"a": 1}', 'yaml', 'yaml'],
    ['a = ', 'toml', 'toml'],
    ['', 'yaml', 'yaml'],
  ] as const)(
    'recognizes the format of the text %j in a field with the format %s: %s',
    (text, previous, expected) => {
      expect(formatOfText(text, previous)).toBe(expected);
    },
  );
});

describe('a config in the list', () => {
  const view: ConfigView = {
    name: 'flux',
    file: 'flux.json',
    changed_at: '2026-01-01T00:00:00.000Z',
    size: 2,
    etag: '"1"',
    problem: null,
    model_family: 'flux',
    model_type: 'lora',
    gpu_count: 2,
    devices: null,
    dataloader: null,
    trainer: 'simpletuner',
    format: 'json',
    files: [],
    data: [],
  };
  const now = '3 hr. ago';

  it('shows the model, the GPUs and the time of the last change of a config', () => {
    expect(aboutConfig(view, now, t)).toBe('flux · lora · 2 GPUs · changed 3 hr. ago');
    expect(aboutConfig({ ...view, model_type: null, devices: [1, 3] }, now, t)).toBe(
      'flux · GPUs 1, 3 · changed 3 hr. ago',
    );
    expect(aboutConfig({ ...view, model_family: null, model_type: null, gpu_count: 0 }, now, t)).toBe(
      'GPU count not set · changed 3 hr. ago',
    );
  });
});
