import type { UpdateRefusal } from '../../../protocol/worker-update.ts';

const texts: Readonly<Record<UpdateRefusal, string>> = {
  off: 'Its owner has turned updates from the server off (--no-remote-update): update it by hand',
  insecure:
    'It does not verify this server, so an attacker could replace the program: update it by hand, or join it over https://',
  container: 'It runs in a container: pull the new image, and start the container again',
  checkout: 'It runs from its sources: run "git pull" and "npm ci" there',
  read_only: 'It cannot replace its program file: update it by hand as the owner of that file',
  ephemeral: 'It leaves after its job: the next one comes with the new version',
  local: 'It belongs to this server, and has its version',
  never_registered: 'It has never registered',
  published_agent: "It is SimpleTuner's own worker: update SimpleTuner there",
  too_old: 'Its agent is too old for updates from the server: update it by hand',
  newer: 'It is newer than this server: update the server',
  not_built: 'The server has no program for it: run "npm run build" on the machine of the server',
  current: 'It has this program already',
  offline: 'It is offline: update it when it is back',
  under_way: 'Its update is already in progress',
};

/** The result of a request to update a worker, as a sentence. */
export const updateText = (refusal: UpdateRefusal | null, version: string): string =>
  refusal === null ? `It will be updated to ${version}` : texts[refusal];
