import type { InputsKey } from '../en/inputs.ts';

export const inputs: Readonly<Record<InputsKey, string>> = {
  'inputs.title': 'ほかのジョブのファイル',
  'inputs.result': '最終モデル',
  'inputs.best': '最良のチェックポイント',
  'inputs.newest': '最新のチェックポイント',
  'inputs.stateNewest': '続きから再開できる最新の状態',
  'inputs.stateBest': '続きから再開できる最良の状態',
  'inputs.step': 'ステップ {step} のチェックポイント',
  'inputs.path': 'ほかのファイルまたはフォルダー',
  'inputs.pending': 'このジョブの開始時に決まります',
  'inputs.missing': 'そのジョブにこのファイルはありません。',
  'inputs.gone': '削除されたジョブ',
  'inputs.count': '{count, plural, other {# 個のファイル}}、{size}',
  'inputs.add': '{name} のファイルを使う',
  'inputs.file': '{name} のファイル',
  'inputs.where': 'ファイル、フォルダー、またはチェックポイント',
  'inputs.whereHint': '例: samples/cat.png、checkpoint 500',
  'inputs.name': '入力の名前',
  'inputs.remove': '{input} を使わない',
  'inputs.hint': '設定の中では {placeholder} がこのファイルのパスになります。',
};
