#!/usr/bin/env bash
# A proposer that reads, on one GPU: from the lessons of trees (experiments/trees_gpu.sh) to one table of all.
#   experiments/reading_gpu.sh all                 everything, in order, what can be side by side
#   experiments/reading_gpu.sh sft choose grpo     single stages, named at the end of this file
#   experiments/reading_gpu.sh look | pack OUT     how far it is; what is worth keeping
# Needs: pip install 'loriner[train,rg]' vllm; WEIGHTS/solver and WEIGHTS/proposer by experiments/convert.py; the thin store of the
# trees in TREES_HOME with the ids of its runs in TREES (contexts come from it), and LESSONS.
set -uo pipefail
cd "$(dirname "$0")/.."

WORK=${WORK:-runs/reading}
WEIGHTS=${WEIGHTS:-weights}
CONFIG=${CONFIG:-configs/reading.toml}
LESSONS=${LESSONS:-experiments/lessons/trees-1-several.jsonl.xz}  # one file, or several
NAME=${NAME:-sft}                             # what the SFT model is called in tables
TREES_HOME=${TREES_HOME:-runs/trees/home}
TREES=${TREES:-}                              # --trees RUN --trees RUN ...
TASKS_HOME=${TASKS_HOME:-$WORK/home}          # frozen questions
SUITE=${SUITE:-rg-unseen}
PYTHON=${PYTHON:-python3}
SERVE=${SERVE:-vllm}
SETS=${SETS:-}                                # further --set arguments
ENGINES=${ENGINES:-2}                         # of the solver
RL_MINUTES=${RL_MINUTES:-10}
MODEL_LEN=8192
source experiments/stages.sh

# The stages side by side ask engines of their own where there are several.
SOLVER_A=http://localhost:8001/v1::solver
SOLVER_B=http://localhost:$((8000 + ENGINES))/v1::solver
PROPOSERS=http://localhost:8006/v1            # the SFT model as `sft`, and RL's adapter as `rl`
COMMON="--set policy.base=$WEIGHTS/proposer --set solver=$SOLVER_A --set output=$WORK $SETS"
REVISING="--set propose.prompt_tokens=4096 --set propose.completion_tokens=1400"

home() { # NAME: a home of its own for a stage, with the frozen questions
    mkdir -p "$WORK/homes/$1" "$TASKS_HOME/tasks"
    [ -e "$WORK/homes/$1/tasks" ] || ln -s "$(realpath "$TASKS_HOME")/tasks" "$WORK/homes/$1/tasks"
    echo "$WORK/homes/$1"
}

loriner() { # HOME ARGUMENTS...: away from the GPU
    local home=$1; shift
    CUDA_VISIBLE_DEVICES= $PYTHON -m loriner --home "$home" --set allow_reduced=true "$@"
}

trained() { # on the GPU
    CUDA_VISIBLE_DEVICES=0 $PYTHON -m loriner --home "$(home train)" --set allow_reduced=true "$@"
}

lessons() {
    $PYTHON -c 'import lzma, sys; [sys.stdout.buffer.write(lzma.open(each).read()) for each in sys.argv[1:]]' \
        $LESSONS >"$WORK/lessons.jsonl" && wc -l "$WORK/lessons.jsonl"
}

contexts() { # from programs of the trees, replayed from their store
    loriner "$TREES_HOME" train contexts "$CONFIG" $COMMON $TREES --replay
}

solvers() {
    local port
    for port in $(seq 8001 $((8000 + ENGINES))); do serve "$WEIGHTS/solver" solver "$port" 12000000000 --api-server-count 3; done
    await $(seq 8001 $((8000 + ENGINES)))
}

checkpoints() { # all of them behind one server, each under its folder's name
    local modules
    modules=$(for each in "$WORK"/sft/checkpoints/checkpoint-*; do echo "$(basename "$each")=$each"; done)
    serve "$WEIGHTS/proposer" base 8005 5000000000 --enable-lora --max-lora-rank 32 --max-loras 8 --lora-modules $modules
    await 8005
}

chosen() { loriner "$(home choose)" train choose "$CONFIG" $COMMON --at http://localhost:8005/v1; }

proposers() {
    RUNTIME_LORA=True serve "$WORK/sft/model" sft 8006 5000000000 --enable-lora --max-lora-rank 16
    await 8006
}

small() { # the 0.5B as a solver, which training never met
    serve "$WEIGHTS/proposer" base 8005 5000000000 --enforce-eager
    await 8005
}

rl_loaded() {
    curl -sf "$PROPOSERS/load_lora_adapter" -H 'Content-Type: application/json' \
        -d "{\"lora_name\": \"rl\", \"lora_path\": \"$(realpath "$WORK/grpo/final")\"}"
}

compare() { # OUT PROPOSERS SOLVER SETTING SUITE
    loriner "$(home "compare-$1")" $REVISING compare-proposers "$5" --solver "$3" --proposers "$2" --setting "$4" \
        --per-task "${PER_TASK:-2}" -k "${K:-2}" --grade "${GRADE:-16}" --out "$WORK/results/compare-$1"
}

rounds() { # NAME MODEL REVISE SOLVER
    CUDA_VISIBLE_DEVICES= $PYTHON experiments/rounds.py --suite "$SUITE" --settings canonical,varied --solver "$4" --proposers "$1=$2" \
        --revise "$3" --rounds "${ROUNDS:-5}" --feedback "${FEEDBACK:-6}" --grade "${ROUNDS_GRADE:-8}" --test "${ROUNDS_TEST:-16}" \
        --prompt-tokens 4096 --completion-tokens 1400 --home "$(home "rounds-$1-$3")" --out "$WORK/results/rounds-$1-$3.json"
}

look() {
    tail -n 12 "$WORK/logs/run.log"
    tail -qn 1 "$WORK"/logs/{grpo,sft,choose,compare*,rounds*}.log 2>/dev/null | cut -c1-200
    nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv,noheader 2>/dev/null
}

pack() { # OUT
    local out=$1 adapter
    mkdir -p "$out"
    tar -C "$WORK" -czf "$out/results.tar.gz" results logs contexts.jsonl validation.jsonl \
        $(cd "$WORK" && ls -d sft/*.jsonl grpo/*.jsonl 2>/dev/null)
    adapter=$(sed -nE '/"chosen": true/s/.*"update": ([0-9]+).*/\1/p' "$WORK/sft/checkpoints.jsonl")
    for adapter in "sft/checkpoints/checkpoint-$adapter" grpo/final; do
        [ -e "$WORK/$adapter/adapter_model.safetensors" ] || continue
        $PYTHON experiments/halve.py "$WORK/$adapter" "$WORK/half.safetensors"
        split -b 15M -d "$WORK/half.safetensors" "$out/${adapter%%/*}.safetensors."
    done
    ls -l "$out"
}

run() {
    case $1 in
        lessons | contexts) stage "$1" "$1" ;;
        solvers | checkpoints | proposers | small) stage "serve-$1" "$1" ;;
        sft) stage sft trained train sft "$CONFIG" $COMMON --set sft.samples=0 ;;
        choose) stage choose chosen ;;
        grpo) stage grpo trained train grpo "$CONFIG" $COMMON --set grpo.max_minutes="$RL_MINUTES" ;;
        load-rl) stage load-rl rl_loaded ;;
        compare-sft) stage compare-sft compare sft "$NAME=$PROPOSERS::sft,catalogue" "$SOLVER_B" both "$SUITE" ;;
        compare-rl) stage compare-rl compare sft "sft=$PROPOSERS::sft,rl=$PROPOSERS::rl,catalogue" "$SOLVER_B" both \
            "$WORK/results/compare-sft/contexts.jsonl" ;;
        compare-small) # a solver that training never met: the 0.5B
            PER_TASK=1 stage compare-small compare small "sft=$PROPOSERS::sft,rl=$PROPOSERS::rl,catalogue" http://localhost:8005/v1::base \
                canonical "$SUITE" ;;
        rounds-catalogue) stage "$1" rounds catalogue catalogue current "$SOLVER_B" ;;
        rounds-sft) stage "$1" rounds "$NAME" "$PROPOSERS::sft" current "$SOLVER_B" ;;
        rounds-rl) stage "$1" rounds rl "$PROPOSERS::rl" current "$SOLVER_A" ;;
        independent-sft) stage "$1" rounds "$NAME" "$PROPOSERS::sft" seed "$SOLVER_B" ;;
        independent-rl) stage "$1" rounds rl "$PROPOSERS::rl" seed "$SOLVER_A" ;;
        all) everything ;;
        look) look ;;
        *) echo "no stage is called $1" >&2; exit 2 ;;
    esac
}

everything() { # what needs no trained model is measured beside the training
    run lessons
    run solvers &
    run contexts && run sft && run checkpoints && run choose && run proposers || exit 1
    wait
    (run compare-sft; run rounds-catalogue; run rounds-sft; run independent-sft) & beside=$!
    run grpo && run load-rl && {
        run compare-rl & run rounds-rl & run independent-rl & run compare-small &
        wait
    }
    wait $beside
    touch "$WORK/done/all"; say "all is done"
}

case ${1:?a stage, all, look or pack OUT} in
    pack) pack "$2" ;;
    *) for each in "$@"; do run "$each"; done ;;
esac
