import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAppsMenuEntry } from '../../../../main/desktop/app-image.ts';
import { userTasks } from '../../../../main/desktop/taskbar/user-tasks.ts';
import { wordsFor } from '../../../../main/desktop/words/index.ts';

let folder = '';
let changes: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trainyard-apps-menu-'));
  changes = [];
  writeFileSync(join(folder, 'icon.png'), 'icon');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const entryFile = (): string => join(folder, 'data/applications/trainyard.desktop');
const iconFile = (): string => join(folder, 'data/icons/hicolor/256x256/apps/trainyard.png');
const open = (appImage = '/home/ada/a b/Trainyard.AppImage') =>
  createAppsMenuEntry({
    dataHome: join(folder, 'data'),
    appImage,
    icon: join(folder, 'icon.png'),
    onChange: changed => changes.push(changed),
  });

test('adds the AppImage to the applications menu, and removes the entry again', () => {
  const entry = open();
  expect(entry.isOn()).toBe(false);
  expect(entry.set(true)).toBeNull();
  expect(entry.isOn()).toBe(true);
  const text = readFileSync(entryFile(), 'utf8');
  expect(text).toContain('\nExec="/home/ada/a b/Trainyard.AppImage" -- %u\n');
  expect(text).toContain(`\nIcon=${iconFile()}\n`);
  expect(text).toContain('\nMimeType=x-scheme-handler/trainyard;\n');
  expect(text).toContain('\nActions=new-job;jobs;workers;\n');
  expect(text).toContain(
    '\n[Desktop Action jobs]\nName=Jobs\nExec="/home/ada/a b/Trainyard.AppImage" -- trainyard://open/jobs\n',
  );
  expect(readFileSync(iconFile(), 'utf8')).toBe('icon');
  expect(entry.set(false)).toBeNull();
  expect([existsSync(entryFile()), existsSync(iconFile())]).toEqual([false, false]);
  expect(entry.set(false)).toBeNull();
  expect(new Set(changes)).toEqual(new Set([join(folder, 'data/applications')]));
});

test('updates the applications menu entry when the AppImage was moved or updated', () => {
  open().set(true);
  changes = [];
  open();
  expect(changes).toEqual([]);
  expect(open('/opt/Trainyard-2.AppImage').isOn()).toBe(true);
  expect(readFileSync(entryFile(), 'utf8')).toContain('\nExec="/opt/Trainyard-2.AppImage" -- %u\n');
  expect(changes).toHaveLength(1);
});

test('does not change the applications menu entry of another installation', () => {
  mkdirSync(join(folder, 'data/applications'), { recursive: true });
  writeFileSync(entryFile(), '[Desktop Entry]\nName=Other\n');
  const entry = open();
  expect(entry.isOn()).toBe(false);
  expect(entry.set(true)?.message).toMatch(/belongs to another installation/);
  expect(entry.set(false)).toBeNull();
  expect(readFileSync(entryFile(), 'utf8')).toBe('[Desktop Entry]\nName=Other\n');
});

test('returns the error when the applications menu entry cannot be written', () => {
  writeFileSync(join(folder, 'data'), 'a file');
  expect(open().set(true)).toBeInstanceOf(Error);
  expect(open('/tmp/a\nName=x').set(true)?.message).toMatch(/line break/);
});

test('creates jump list tasks for Windows that start the program with a link', () => {
  const tasks = userTasks('C:\\Trainyard\\trainyard.exe', wordsFor(['es']));
  expect(tasks).toMatchObject([
    {
      program: 'C:\\Trainyard\\trainyard.exe',
      arguments: '-- trainyard://open/new-job',
      title: 'Nuevo trabajo',
    },
    { arguments: '-- trainyard://open/jobs', title: 'Trabajos' },
    { arguments: '-- trainyard://open/workers', title: 'Workers' },
  ]);
});
