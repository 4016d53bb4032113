import { type MessageKey, useT } from '../i18n/index.ts';
import { Icon, type IconName } from './icon.tsx';

type StateName = Extract<MessageKey, `state.${string}`> extends `state.${infer Name}` ? Name : never;
type ShownState = Extract<StateName, IconName>;

/** The state of a worker or a job, as a word and an icon, never by colour alone. */
export function State({ name }: { readonly name: ShownState }) {
  const t = useT();
  return (
    <span className="state" data-state={name}>
      <Icon name={name} />
      {t(`state.${name}`)}
    </span>
  );
}
