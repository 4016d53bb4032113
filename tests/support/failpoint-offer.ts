/**
 * A failpoint preload (failpoint.ts) that kills the process with SIGKILL after it has written the first job offer to a worker.
 */
import { ServerResponse } from 'node:http';
import { die } from './failpoint.ts';

const { write } = ServerResponse.prototype;

ServerResponse.prototype.write = function writeWatched(
  this: ServerResponse,
  chunk: unknown,
  ...rest: unknown[]
) {
  if (!String(chunk).includes('"type":"job_submit"'))
    return Reflect.apply(write, this, [chunk, ...rest]) as boolean;
  return write.call(this, chunk, 'utf8', () => die('after the offer'));
};
