import type { help as source } from '../en/help.ts';

export const help: Readonly<Record<keyof typeof source, string>> = {
  'help.keys': 'キー操作',
  'help.keyHelp': 'このページへ',
  'help.keyTab': '次のリンク、ボタン、行へ移動',
  'help.keyRows': '表の次または前の行へ移動',
  'help.keyOpen': '行を開く',
  'help.keyClose': 'ダイアログやメニューを閉じる',
  'help.terminal': 'ターミナルで',
  'help.doctor': 'このマシン、オーケストレーターまでの経路、オーケストレーター側の問題を調べます:',
  'help.api': 'スクリプト向けの API 呼び出し一覧',
  'help.diagnostics': '報告用',
  'help.diagnosticsNote': '不具合の理解に役立つ情報です。ワーカー、ジョブ、トークンの名前は含みません。',
  'help.keyPalette': '任意のページ、ワーカー、ジョブへ',
  'help.keyGo': '概要、ワーカー、ジョブ、キュー、監査、設定、このページへ',
  'help.keyFilter': 'ページの絞り込みへ',
};
