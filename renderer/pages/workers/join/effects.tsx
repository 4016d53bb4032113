import Download from 'lucide-react/icons/download';
import FolderDown from 'lucide-react/icons/folder-down';
import Play from 'lucide-react/icons/play';
import ShieldCheck from 'lucide-react/icons/shield-check';
import type { AgentManifest } from '../../../../protocol/agent-api.ts';
import { isVerifiable } from '../../../../protocol/join-line.ts';
import { perLanguage } from '../../../i18n/formats.ts';
import { sizeText } from '../../jobs/figures.ts';
import { downloadsOf } from './downloads.ts';
import type { Joining } from './join-commands.ts';
import { useJoinT } from './texts.tsx';

interface EffectsProps {
  readonly joining: Pick<Joining, 'url' | 'pin' | 'script'>;
  readonly programs: AgentManifest | null;
  readonly isService?: boolean;
}

const icons = { download: Download, check: ShieldCheck, put: FolderDown, start: Play };

const lists = perLanguage(language => new Intl.ListFormat(language, { type: 'unit', style: 'short' }));

/** Returns the key of the text that explains how the command verifies the download. */
function checkKey(url: string, pin: string | null) {
  if (!isVerifiable(url)) return 'effects.hash';
  return pin === null ? 'effects.certificate' : 'effects.pin';
}

const smallText = (bytes: number | null, language: string): string =>
  bytes === null ? '' : sizeText(bytes, language);

/** Lists the effects of a command, so that users can check them before they paste the command. */
export function Effects({ joining, programs, isService = false }: EffectsProps) {
  const t = useJoinT();
  const { url, pin, script } = joining;
  const { host } = new URL(url);
  const downloads = programs === null ? null : downloadsOf(programs);
  const small = smallText(downloads?.scriptBytes ?? null, t.language);
  const executable = downloads?.executable ?? null;
  const download =
    executable === null
      ? t('effects.download.one', { host, small })
      : t('effects.download', {
          host,
          small,
          size: sizeText(executable.bytes, t.language),
          systems: lists(t.language).format(executable.systems),
        });
  const ofScript = [
    ['download', download],
    ['check', t(checkKey(url, pin))],
    ['put', t(isService ? 'effects.put.service' : 'effects.put')],
    ['start', t(isService ? 'effects.start.service' : 'effects.start')],
  ] as const;
  const ofInstalled = [['start', t(isService ? 'effects.installed.service' : 'effects.installed')]] as const;
  const effects = typeof script === 'string' ? ofScript : ofInstalled;
  return (
    <div className="worker-effects">
      <p>{t('effects.title')}</p>
      <ol>
        {effects.map(([kind, text]) => {
          const Drawing = icons[kind];
          return (
            <li key={kind}>
              <Drawing size={16} strokeWidth={2} aria-hidden="true" />
              <span>{text}</span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
