import { expect, test } from 'vitest';
import type { Template } from '../../../main/orchestrator/ports/index.ts';
import { SubmitRequest } from '../../../protocol/submission.ts';
import { TemplateParameter } from '../../../protocol/template.ts';
import { at, type OpenStore } from './builders.ts';

const makeTemplate = (name: string, changes: Partial<Template> = {}): Template => ({
  name,
  description: null,
  configName: null,
  trainer: 'kohya',
  parameters: [TemplateParameter.parse({ key: 'größe', default: 'x' })],
  revision: 1,
  createdAt: at(0),
  createdBy: 'ada',
  changedAt: at(0),
  changedBy: 'ada',
  ...changes,
});

export function describeTemplates(open: OpenStore): void {
  test('stores, replaces, sorts and removes job templates', async () => {
    const store = open();
    const submission = SubmitRequest.parse({ config: { größe: 1 } });
    await store.write(tx => {
      tx.putTemplate(makeTemplate('b'), submission);
      tx.putTemplate(makeTemplate('a'), submission);
      tx.putTemplate(makeTemplate('b', { revision: 2 }), { ...submission, gpu_count: 2 });
    });
    expect(store.templates()).toEqual([makeTemplate('a'), makeTemplate('b', { revision: 2 })]);
    expect(store.template('b')).toEqual(makeTemplate('b', { revision: 2 }));
    expect(store.templateSubmission('b')).toEqual({ ...submission, gpu_count: 2 });
    expect(store.countTemplates()).toBe(2);
    await store.write(tx => tx.removeTemplate('b'));
    expect([store.template('b'), store.templateSubmission('b')]).toEqual([null, null]);
  });
}
