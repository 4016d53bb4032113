import { describe, expect, test } from 'vitest';
import { mayGrant, type OwnRule, type Permission, reachOf } from '../../../protocol/call.ts';

describe('reachOf for a call that needs queue.cancel', () => {
  const reach = (own: OwnRule, ...held: readonly Permission[]) =>
    reachOf(held, { authority: 'queue.cancel', own });

  test.each<readonly [OwnRule, string]>([
    ['job', 'own'],
    ['filtered', 'own'],
    ['shared', 'all'],
    ['refused', 'none'],
  ])('returns for the rule %j the reach %j of a token with only queue.cancel.own', (rule, expected) => {
    expect(reach(rule, 'queue.cancel.own')).toBe(expected);
    expect(reach(rule, 'queue.view.own', 'queue.submit')).toBe('none');
    expect(reach(rule, 'queue.cancel.own', 'queue.cancel')).toBe('all');
  });
});

test('requires the exact permission for a call without a rule, and no permission for an open call', () => {
  expect(reachOf(['admin.audit'], { authority: 'admin.audit' })).toBe('all');
  expect(reachOf(['admin.tokens'], { authority: 'admin.audit' })).toBe('none');
  expect(reachOf([], { authority: 'open' })).toBe('all');
  expect(reachOf(['admin.workers'], { authority: 'worker' })).toBe('none');
});

test('allows a full permission to grant its .own form, but not the reverse', () => {
  expect(mayGrant(['queue.view'], 'queue.view')).toBe(true);
  expect(mayGrant(['queue.view'], 'queue.view.own')).toBe(true);
  expect(mayGrant(['queue.view.own'], 'queue.view')).toBe(false);
  expect(mayGrant(['queue.view'], 'queue.cancel.own')).toBe(false);
});
