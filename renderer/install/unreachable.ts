/** The page that the service worker shows while the server is unreachable. It reloads as soon as the server answers. */
import { unreachable as en } from '../i18n/en/unreachable.ts';
import { unreachable as es } from '../i18n/es/unreachable.ts';
import { unreachable as hi } from '../i18n/hi/unreachable.ts';
import { unreachable as ja } from '../i18n/ja/unreachable.ts';
import { unreachable as zh } from '../i18n/zh/unreachable.ts';
import './unreachable.css';

const catalogs = { en, es, zh, hi, ja } as const;
const pollMs = 3_000;

const isLanguage = (word: string): word is keyof typeof catalogs => Object.hasOwn(catalogs, word);

/** Returns a preference that the panel has stored (renderer/state/stores.ts); null for none. */
function preference(name: 'language' | 'theme'): string | null {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem('trainyard.preferences') ?? '{}');
    const value: unknown = typeof stored === 'object' && stored !== null ? Reflect.get(stored, name) : null;
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

const preferredLanguages = [preference('language') ?? '', ...navigator.languages].map(
  tag => tag.split('-', 1)[0] ?? '',
);
const language = preferredLanguages.find(isLanguage) ?? 'en';
const theme = preference('theme');
const page = document.documentElement;
page.lang = language;
if (theme === 'light' || theme === 'dark') page.dataset['theme'] = theme;

const setText = (selector: string, text: string): void => {
  const element = document.querySelector(selector);
  if (element !== null) element.textContent = text;
};
const { title, text, retry } = catalogs[language];
setText('h1', title);
setText('p', text);
setText('a', retry);

/** Reloads the page if the server answers. While the server is down, proxies answer with errors, so only a success counts. */
async function reloadIfReachable(): Promise<void> {
  try {
    const response = await fetch('/health/live', { cache: 'no-store', signal: AbortSignal.timeout(pollMs) });
    if (response.ok) location.reload();
  } catch {
    // Still unreachable.
  }
}

setInterval(() => void reloadIfReachable(), pollMs);
addEventListener('online', () => void reloadIfReachable());
