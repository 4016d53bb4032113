import type { UnreachableKey } from '../en/unreachable.ts';

export const unreachable: Readonly<Record<UnreachableKey, string>> = {
  title: 'サーバーに接続できません',
  text: 'Trainyard はサーバーに接続できません。トレーニングはワーカーで続いています。サーバーが応答すると、このページは自動で再読み込みされます。',
  retry: '再試行',
};
