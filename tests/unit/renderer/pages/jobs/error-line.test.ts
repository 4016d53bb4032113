import { expect, test } from 'vitest';
import { lastErrorLine } from '../../../../../renderer/pages/jobs/error-line.ts';

test.each([
  [
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    main()\nValueError: bad rank',
    'ValueError: bad rank',
  ],
  [
    'Traceback (most recent call last):\n  File "a.py", line 3\ntorch.OutOfMemoryError: CUDA out of memory\nSaving state\n100%|#####|\n',
    'torch.OutOfMemoryError: CUDA out of memory',
  ],
  ['RuntimeError: first\nDuring handling, another:\nKeyError: "x"', 'KeyError: "x"'],
  ['The trainer ended with exit code 3', 'The trainer ended with exit code 3'],
  ['step 3\nkilled\n-----\n', 'killed'],
  ['----\n', '----'],
  ['', ''],
])('finds the line that states the error in %j', (error, line) => {
  expect(lastErrorLine(error)).toBe(line);
});
