#!/usr/bin/env bash
# From two GGUF files to the results table, on one machine with one or two GPUs:
#   experiments/gpu_run.sh all                  everything, in order
#   experiments/gpu_run.sh serve contexts teach single stages, named at the end of this file
# Lessons and SFT with configs/small.toml; from its model, reinforcement learning on two suites: room (configs/small-room.toml, 14
# families) and hard (configs/small-hard.toml, the source's five), whose stages end in their names: contexts-room, grpo-hard.
# Needs: pip install 'loriner[train,rg]' vllm, and the weights (loriner models pull qwen2.5-coder-1.5b, ...-0.5b).
# A stage that is done leaves WORK/done/STAGE and is not done again; servers are started again where they are gone.
# Everything is logged to WORK/logs with its seconds.
set -uo pipefail
cd "$(dirname "$0")/.."

WORK=${WORK:-runs/small}                      # contexts, data, checkpoints, results
SOLVER_GGUF=${SOLVER_GGUF:-.loriner/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf}
PROPOSER_GGUF=${PROPOSER_GGUF:-.loriner/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf}
WEIGHTS=${WEIGHTS:-weights}                   # converted models
PYTHON=${PYTHON:-python3}
SUITE=${SUITE:-rg-unseen}
LIBRARY_SUITE=${LIBRARY_SUITE:-rg:count_primes,rg:word_sorting,rg:string_manipulation,rg:gsm_symbolic,rg:coin_flip,fictional}
MODES_TASKS=${MODES_TASKS:-rg:count_primes rg:word_sorting fictional}
SETS=${SETS:-}                                # further --set arguments, e.g. "--set grpo.max_minutes=15"
PROMPT_TOKENS=${PROMPT_TOKENS:-2400}          # of the comparison and the rounds
COMPLETION_TOKENS=${COMPLETION_TOKENS:-640}
SERVE=${SERVE:-vllm}                          # or a command that takes: DIR NAME PORT CACHE FURTHER...
API_SERVERS=${API_SERVERS:-4}
N_GPUS=${N_GPUS:-$(nvidia-smi -L 2>/dev/null | wc -l)}
SOLVER_GPU=$([ "$N_GPUS" -gt 1 ] && echo 1 || echo 0)
SOLVER=http://localhost:8001/v1::solver
HOME_DIR=${HOME_DIR:-$WORK/home}              # stages that run side by side are faster with a store each
LORINER="$PYTHON -m loriner --home $HOME_DIR --set allow_reduced=true"
COMMON="--set policy.base=$WEIGHTS/proposer --set solver=$SOLVER $SETS"
source experiments/stages.sh

proposer() { # NAME DIR: a server for a proposer that is compared, beside the solver
    serve "$2" "$1" "${PORT[$1]}" 5000000000 --api-server-count "$API_SERVERS" && await "${PORT[$1]}"
}

declare -A PORT=([base]=8003 [sft]=8004 [room]=8005 [hard]=8006)
asked() { # NAME: where this proposer is asked. An adapter that another server has loaded: ASKED_room=http://localhost:8004/v1::room
    local elsewhere=ASKED_$1
    echo "$1=${!elsewhere:-http://localhost:${PORT[$1]}/v1::$1}"
}
TEACHER=teacher=catalogue
REVISING="--set propose.prompt_tokens=$PROMPT_TOKENS --set propose.completion_tokens=$COMPLETION_TOKENS"

compare() { # SUITE PROPOSERS: one revision, canonical and format-varied; samples that are there are not made again
    $LORINER compare-proposers "$1" --solver "$SOLVER" --proposers "$2" --setting both \
        --per-task "${PER_TASK:-2}" -k "${K:-4}" --grade "${GRADE:-16}" --out "$WORK/results/compare" $REVISING
}

rounds() { # PROPOSERS: one to five revisions in sequence
    $PYTHON experiments/rounds.py --suite "$SUITE" --solver "$SOLVER" --proposers "$1" --rounds 5 --home "$HOME_DIR" \
        --grade "${ROUNDS_GRADE:-8}" --test "${ROUNDS_TEST:-16}" --prompt-tokens "$PROMPT_TOKENS" \
        --completion-tokens "$COMPLETION_TOKENS" --out "$WORK/results/rounds-${1%%=*}.json"
}

library() { # every harness of the library with the 0.5B model
    local base
    base=$(asked base)
    $LORINER evaluate "$LIBRARY_SUITE" --harness library --solver "${base#*=}" --limit "${LIMIT:-24}" \
        -o "$WORK/results/library.md"
}

modes() { # sequence, independent, best-of-N and sampling at equal calls
    $LORINER compare $MODES_TASKS --solver "$SOLVER" --proposer catalogue --rounds "${ROUNDS:-5}" -k 1 \
        --seeds 3 --feedback 8 --grade 16 --test 40
}

pack() { # what is worth keeping, in parts of 15 MiB: results, logs, journals, adapters
    rm -rf "$WORK/packed" && mkdir -p "$WORK/packed"
    cp "$WORK/lessons-report.json" "$WORK/results/" 2>/dev/null
    tar -cJf "$WORK/packed/results.tar.xz" -C "$WORK" results logs \
        $(cd "$WORK" && ls -d lessons.jsonl sft/log.jsonl */grpo/{updates,rollouts}.jsonl 2>/dev/null)
    for adapter in sft/adapter room/grpo/final hard/grpo/final; do
        [ -e "$WORK/$adapter/adapter_model.safetensors" ] || continue
        kept=$WORK/packed/${adapter%%/*}-adapter.safetensors
        $PYTHON experiments/halve.py "$WORK/$adapter" "$kept"
        split -b 15M -d "$kept" "$kept." && rm "$kept"
    done
    ls -l "$WORK/packed"
}

up() { # SERVER: makes sure that it answers, and starts it again if it died
    case $1 in
        solver) serve "$WEIGHTS/solver" solver 8001 "${SOLVER_CACHE:-30000000000}" --api-server-count "$API_SERVERS" && await 8001 ;;
        base) proposer base "$WEIGHTS/proposer" ;;
        sft) proposer sft "$WORK/sft/model" ;;
        room | hard) proposer "$1" "$WORK/$1/grpo/model" ;;
    esac
}

needed() { # STAGE: the servers that it asks; a comparison takes the samples of base and sft that compare-sft kept
    local elsewhere=ASKED_${1##*-}
    case $1 in
        room | contexts* | teach | grpo-* | modes) echo solver ;;
        compare-sft) echo solver base sft ;;
        compare-* | rounds-*) echo solver; [ -n "${!elsewhere:-}" ] || echo "${1##*-}" ;;
        library) echo base ;;
    esac
}

run() {
    local server said suite=${1##*-} trained
    trained="configs/small-$suite.toml $COMMON --set output=$WORK/$suite"
    for server in $(needed "$1"); do
        said=$(up $server 2>&1) || { say "$1: no $server: $said; see $WORK/logs/server-*.log"; exit 1; }
    done
    case $1 in
        convert-solver) stage $1 $PYTHON experiments/convert.py "$SOLVER_GGUF" "$WEIGHTS/solver" ;;
        convert-proposer) stage $1 $PYTHON experiments/convert.py "$PROPOSER_GGUF" "$WEIGHTS/proposer" ;;
        serve) stage $1 up solver ;;
        room) stage $1 $PYTHON experiments/room.py --solver "$SOLVER" --home "$HOME_DIR" --families ${FAMILIES:-rg-train-room} \
            --out "$WORK/results/room.json" ;;
        contexts | teach) stage $1 $LORINER train $1 configs/small.toml $COMMON --set output=$WORK ;;
        sft) CUDA_VISIBLE_DEVICES=${GPU-0} stage $1 $LORINER train sft configs/small.toml $COMMON --set output=$WORK ;;
        contexts-room | contexts-hard) stage $1 $LORINER train contexts $trained ;;
        grpo-room | grpo-hard) CUDA_VISIBLE_DEVICES=${GPU-0} stage $1 $LORINER train grpo $trained --from "$WORK/sft/model" ;;
        serve-base | serve-sft | serve-room | serve-hard) stage $1 up "$suite" ;;
        compare-sft) stage $1 compare "$SUITE" "$(asked base),$(asked sft),$TEACHER" ;;
        compare-room | compare-hard)
            stage $1 compare "$WORK/results/compare/contexts.jsonl" "$(asked base),$(asked sft),$(asked $suite),$TEACHER" ;;
        table) # all of them side by side, from the samples that the comparisons kept
            stage $1 compare "$WORK/results/compare/contexts.jsonl" \
                "$(asked base),$(asked sft),$(asked room),$(asked hard),$TEACHER" ;;
        rounds-sft) stage $1 rounds "$(asked sft),$TEACHER" ;;
        rounds-room | rounds-hard) stage $1 rounds "$(asked $suite)" ;;
        library) stage $1 library ;;
        modes) stage $1 modes ;;
        pack) pack ;;
        all) for each in convert-solver serve contexts teach convert-proposer serve-base sft serve-sft compare-sft rounds-sft \
            {contexts,grpo,serve,compare,rounds}-room {contexts,grpo,serve,compare,rounds}-hard table pack; do run "$each"; done ;;
        *) echo "no stage is called $1" >&2; exit 2 ;;
    esac
}

for each in "${@:-all}"; do run "$each"; done
