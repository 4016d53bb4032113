import { expect, test } from 'vitest';
import { Boundary } from '../../../../renderer/app/unavailable.tsx';

/** Returns what a boundary with this `onFailure` renders after an error of its children. */
function renderAfterError(onFailure?: () => null | false | string): unknown {
  const boundary = new Boundary({ children: 'page', ...(onFailure && { onFailure }) });
  boundary.state = Boundary.getDerivedStateFromError(new Error('no such part'));
  return boundary.render();
}

test('renders the children while none of them has failed', () => {
  expect(new Boundary({ children: 'page' }).render()).toBe('page');
});

test('renders the content that onFailure returns, also when it returns null to show nothing', () => {
  expect(renderAfterError(() => 'try again')).toBe('try again');
  expect(renderAfterError(() => null)).toBeNull();
});

test('shows the message of the error when onFailure is missing or returns false', () => {
  for (const shown of [renderAfterError(), renderAfterError(() => false)])
    expect(JSON.stringify(shown)).toContain('no such part');
});
