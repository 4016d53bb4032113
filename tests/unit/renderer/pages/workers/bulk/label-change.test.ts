import { describe, expect, test } from 'vitest';
import {
  changedLabels,
  labelChangeText,
} from '../../../../../../renderer/pages/workers/bulk/label-change.ts';

const labels = { team: 'nlp', site: 'berlin' };
const change = (added: Readonly<Record<string, string>>, ...removed: readonly string[]) => ({
  added,
  removed: new Set(removed),
});

describe('change of labels', () => {
  test('adds, replaces and removes labels, and keeps the other labels', () => {
    expect(changedLabels(labels, change({ team: 'video', rack: '4' }, 'site'))).toEqual({
      team: 'video',
      rack: '4',
    });
  });

  test('adds a label that is in the list to add and in the list to remove', () => {
    expect(changedLabels(labels, change({ site: 'paris' }, 'site'))).toEqual({ team: 'nlp', site: 'paris' });
  });

  test.each([
    ['adds a label that the worker has', change({ team: 'nlp' })],
    ['removes a label that the worker lacks', change({}, 'rack')],
    ['is empty', change({})],
  ])('has no effect when the change %s', (_title, withoutEffect) => {
    expect(changedLabels(labels, withoutEffect)).toBeNull();
    expect(labelChangeText(labels, withoutEffect)).toBe('');
  });

  test('returns a text with the labels to add and to remove', () => {
    expect(labelChangeText(labels, change({ team: 'video', rack: '4' }, 'site'))).toBe(
      '+team=video +rack=4 −site',
    );
  });
});
